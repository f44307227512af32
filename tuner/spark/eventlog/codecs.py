"""Decompression of event logs, piece by piece, in bounded memory.

Spark's lz4, snappy and lzf are not the formats of ``.lz4``, ``.sz`` or ``.lzf`` files but the block streams of three
Java libraries: ``net.jpountz.lz4.LZ4BlockOutputStream``, ``org.xerial.snappy.SnappyOutputStream`` and
``com.ning.compress.lzf.LZFOutputStream``. A zstd log is many frames one after the other, a frame for each flush.

What a log is, is told by its first bytes and not by its name: logs get renamed. A decoder yields text as ``bytes``
and, where something cannot be decoded, a :class:`Damage`; it raises nothing for bad content.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

PIECE: Final = 1 << 18
"""Bytes read from a plain log at a time."""
_COMPRESSED_PIECE: Final = 1 << 14
# Spark writes blocks of 32 KiB (lz4, snappy) or 64 KiB (lzf); a header that says far more is no header.
_LARGEST_BLOCK: Final = 1 << 26

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
LZ4_MAGIC: Final = b"LZ4Block"
SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
LZF_MAGIC: Final = b"ZV"
GZIP_MAGIC: Final = b"\x1f\x8b"


class Readable(Protocol):
    """What a decoder reads from."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        ...


@dataclass(frozen=True)
class Damage:
    """A place where text is missing.

    Attributes:
        what: a sentence's part, for example ``a zstd frame is cut off``.
        at_end: True where the file just stops there, as it does when its writer was killed.
    """

    what: str
    at_end: bool


Pieces = Iterator["bytes | Damage"]


class _Source:
    """Exact reads over a stream, with one buffer."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._buffer = bytearray()

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay; fewer at the end."""
        while len(self._buffer) < size:
            more = self._stream.read(max(_COMPRESSED_PIECE, size - len(self._buffer)))
            if not more:
                break
            self._buffer += more
        return bytes(self._buffer[:size])

    def take(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        taken = self.peek(size)
        del self._buffer[: len(taken)]
        return taken

    def put_back(self, data: bytes) -> None:
        """Gives back bytes that were taken, to be read next."""
        self._buffer[:0] = data

    def skip(self, size: int) -> None:
        """Drops the next bytes."""
        del self._buffer[:size]

    def seek_to(self, magic: bytes) -> bool:
        """Drops bytes up to the next ``magic``; False where there is none."""
        while True:
            place = self._buffer.find(magic)
            if place >= 0:
                del self._buffer[:place]
                return True
            del self._buffer[: max(0, len(self._buffer) - len(magic) + 1)]
            more = self._stream.read(_COMPRESSED_PIECE)
            if not more:
                return False
            self._buffer += more


def codec_of(head: bytes) -> str:
    """The codec's name (``plain``, ``zstd``, ``lz4``, ``snappy``, ``lzf``, ``gzip``) from a log's first 8 bytes."""
    for name, (magic, _) in _DECODERS.items():
        if head.startswith(magic) or (head and magic.startswith(head)):
            return name
    return "plain"


def decode(stream: Readable) -> Pieces:
    """Decodes a log whatever it is compressed with.

    Args:
        stream: the file's bytes, from the first on.

    Yields:
        Text, in pieces of any size, and a :class:`Damage` where some is missing.
    """
    source = _Source(stream)
    codec = codec_of(source.peek(8))
    if codec == "plain":
        return _plain(source, stream)
    return _DECODERS[codec][1](source)


def _plain(source: _Source, stream: Readable) -> Pieces:
    # Around the buffer, which would copy everything once more.
    yield source.take(_COMPRESSED_PIECE)
    while piece := stream.read(PIECE):
        yield piece


def _zstd(source: _Source) -> Pieces:
    import zstandard

    context = zstandard.ZstdDecompressor()
    while source.peek(1):
        frame = context.decompressobj()
        piece = b""
        while not frame.eof and (piece := source.take(_COMPRESSED_PIECE)):
            try:
                text = frame.decompress(piece)
            except zstandard.ZstdError:
                break
            if text:
                yield text
        if frame.eof:
            source.put_back(frame.unused_data)
        elif not piece:
            yield Damage("the last zstd frame is cut off", at_end=True)
            return
        else:
            yield Damage("a zstd frame cannot be decompressed", at_end=False)
            # The frame's own magic is behind; the next one may be inside this piece.
            source.put_back(piece)
            source.skip(1)
            if not source.seek_to(ZSTD_MAGIC):
                return


def _gzip(source: _Source) -> Pieces:
    while source.peek(1):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            piece = member.unconsumed_tail or source.take(_COMPRESSED_PIECE)
            if not piece:
                yield Damage("the last gzip member is cut off", at_end=True)
                return
            try:
                text = member.decompress(piece, PIECE)
            except zlib.error:
                yield Damage("a gzip member cannot be decompressed", at_end=False)
                return
            if text:
                yield text
        source.put_back(member.unused_data)


def _lz4(source: _Source) -> Pieces:
    """``LZ4BlockOutputStream``: magic, token, compressed and plain length (little endian), checksum, block."""
    import cramjam

    while header := source.take(21):
        if len(header) < 21:
            yield Damage("the last lz4 block is cut off", at_end=True)
            return
        method = header[8] & 0xF0
        packed, plain = int.from_bytes(header[9:13], "little"), int.from_bytes(header[13:17], "little")
        if header[:8] != LZ4_MAGIC or packed > _LARGEST_BLOCK or plain > _LARGEST_BLOCK:
            yield Damage("an lz4 block has no proper header", at_end=False)
            if not source.seek_to(LZ4_MAGIC):
                return
            continue
        block = source.take(packed)
        if len(block) < packed:
            yield Damage("the last lz4 block is cut off", at_end=True)
            return
        if plain == 0:
            continue  # the mark at the end of one stream; another may follow
        try:
            yield block if method == 0x10 else bytes(cramjam.lz4.decompress_block(block, output_len=plain))
        except cramjam.DecompressionError:
            yield Damage("an lz4 block cannot be decompressed", at_end=False)


def _snappy(source: _Source) -> Pieces:
    """``SnappyOutputStream``: magic, two versions, then blocks with their length (big endian) before them."""
    import cramjam

    while head := source.peek(8):
        if SNAPPY_MAGIC.startswith(head):  # the header again, where one stream follows another
            source.take(16)
            continue
        header = source.take(4)
        packed = int.from_bytes(header, "big")
        if len(header) == 4 and packed > _LARGEST_BLOCK:
            yield Damage("a snappy block has no proper header", at_end=False)
            if not source.seek_to(SNAPPY_MAGIC):
                return
            continue
        block = source.take(packed)
        if len(header) < 4 or len(block) < packed:
            yield Damage("the last snappy block is cut off", at_end=True)
            return
        try:
            yield bytes(cramjam.snappy.decompress_raw(block))
        except cramjam.DecompressionError:
            yield Damage("a snappy block cannot be decompressed", at_end=False)


def _lzf(source: _Source) -> Pieces:
    """``LZFOutputStream``: ``ZV``, type, length (big endian), for type 1 the plain length, block."""
    while header := source.take(5):
        if len(header) == 5 and (header[:2] != LZF_MAGIC or header[2] > 1):
            # Two letters are too common to look for; nothing after this place can be trusted.
            yield Damage("an lzf block has no proper header", at_end=False)
            return
        kind = header[2] if len(header) == 5 else 0
        extra = source.take(2 * kind)
        if len(header) < 5 or len(extra) < 2 * kind:
            yield Damage("the last lzf block is cut off", at_end=True)
            return
        packed = int.from_bytes(header[3:5], "big")
        block = source.take(packed)
        if len(block) < packed:
            yield Damage("the last lzf block is cut off", at_end=True)
            return
        text = block if kind == 0 else _lzf_block(block, int.from_bytes(extra, "big"))
        yield Damage("an lzf block cannot be decompressed", at_end=False) if text is None else text


def _lzf_block(block: bytes, plain: int) -> bytes | None:
    """Decodes one LibLZF block: runs of up to 32 literal bytes, and copies of up to 264 from 8 KiB back."""
    out = bytearray()
    at, end = 0, len(block)
    try:
        while at < end:
            control = block[at]
            at += 1
            if control < 32:
                out += block[at : at + control + 1]
                at += control + 1
                continue
            length = control >> 5
            if length == 7:
                length += block[at]
                at += 1
            length += 2
            start = len(out) - ((control & 31) << 8) - block[at] - 1
            at += 1
            if start < 0:
                return None
            distance = len(out) - start
            if distance >= length:
                out += out[start : start + length]
            else:  # the copy overlaps itself, so it repeats
                out += (out[start:] * (length // distance + 1))[:length]
    except IndexError:
        return None
    return bytes(out) if len(out) == plain else None


_DECODERS: Final[dict[str, tuple[bytes, Callable[[_Source], Pieces]]]] = {
    "zstd": (ZSTD_MAGIC, _zstd),
    "lz4": (LZ4_MAGIC, _lz4),
    "snappy": (SNAPPY_MAGIC, _snappy),
    "lzf": (LZF_MAGIC, _lzf),
    "gzip": (GZIP_MAGIC, _gzip),
}
