"""Decoders against streams that are cut, damaged or put together."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable

import cramjam
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.spark.eventlog.codecs import Damage, codec_of, decode

LINES = [
    b'{"Event":"SparkListenerTaskStart","Stage ID":%d,"Task Info":{"Task ID":%d}}\n' % (n % 7, n) for n in range(900)
]
TEXT = b"".join(LINES)
BLOCK = 8192


def blocks(text: bytes) -> list[bytes]:
    return [text[at : at + BLOCK] for at in range(0, len(text), BLOCK)]


def zstd(text: bytes) -> bytes:
    """A frame for each block, as Spark writes one for each flush."""
    return b"".join(zstandard.ZstdCompressor().compress(block) for block in blocks(text))


def lz4(text: bytes) -> bytes:
    """``LZ4BlockOutputStream``: compressed blocks, one stored, and the mark at the end."""
    out = b""
    for number, block in enumerate(blocks(text)):
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        method = 0x20
        if number == 1:
            packed, method = block, 0x10
        out += b"LZ4Block" + bytes([method | 5]) + len(packed).to_bytes(4, "little")
        out += len(block).to_bytes(4, "little") + b"\0\0\0\0" + packed
    return out + b"LZ4Block" + bytes([0x15]) + bytes(12)


def snappy(text: bytes) -> bytes:
    """``SnappyOutputStream``."""
    out = b"\x82SNAPPY\0" + b"\0\0\0\1\0\0\0\1"
    for block in blocks(text):
        packed = bytes(cramjam.snappy.compress_raw(block))
        out += len(packed).to_bytes(4, "big") + packed
    return out


def lzf(text: bytes) -> bytes:
    """``LZFOutputStream``, with a compressor of this test's own: literals and copies of what stands a line back."""
    out = b""
    for number, block in enumerate(blocks(text)):
        packed = lzf_block(block)
        if number == 1:
            out += b"ZV\0" + len(block).to_bytes(2, "big") + block
        else:
            out += b"ZV\1" + len(packed).to_bytes(2, "big") + len(block).to_bytes(2, "big") + packed
    return out


def lzf_block(block: bytes) -> bytes:
    out, at, literal = bytearray(), 0, bytearray()

    def flush() -> None:
        while literal:
            run = bytes(literal[:32])
            out.append(len(run) - 1)
            out.extend(run)
            del literal[:32]

    while at < len(block):
        window = block[max(0, at - 8191) : at]
        length = next(
            (size for size in (264, 100, 20, 8, 3) if block[at : at + size] in window and at + size <= len(block)), 0
        )
        if length < 3:
            literal.append(block[at])
            at += 1
            continue
        flush()
        back = len(window) - window.rfind(block[at : at + length]) - 1
        if length - 2 < 7:
            out.append((length - 2) << 5 | back >> 8)
        else:
            out.extend((7 << 5 | back >> 8, length - 2 - 7))
        out.append(back & 255)
        at += length
    flush()
    return bytes(out)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda text: text,
    "zstd": zstd,
    "lz4": lz4,
    "snappy": snappy,
    "lzf": lzf,
    "gzip": lambda text: b"".join(gzip.compress(block) for block in blocks(text)),
}
PACKED = {name: pack(TEXT) for name, pack in PACKERS.items()}
# Bytes of text, and how many packed ones hold them; the mark that ends an lz4 stream is not needed for that.
WHOLE = {
    name: [(0, 0), *((size, len(pack(TEXT[:size])) - 21 * (name == "lz4")) for size in range(BLOCK, len(TEXT), BLOCK))]
    for name, pack in PACKERS.items()
}


def unpack(data: bytes) -> tuple[bytes, list[Damage]]:
    text, damages = [], []
    for piece in decode(io.BytesIO(data)):
        if isinstance(piece, Damage):
            damages.append(piece)
        else:
            text.append(piece)
    return b"".join(text), damages


@pytest.mark.parametrize("name", PACKERS)
def test_round_trip(name: str) -> None:
    assert codec_of(PACKED[name]) == name
    assert unpack(PACKED[name]) == (TEXT, [])


def test_zstd_of_many_frames_is_read_to_its_end() -> None:
    """G3-04: a reader that stops after the first frame sees one line of all, and says nothing."""
    data = b"".join(zstandard.ZstdCompressor().compress(line) for line in LINES)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(data) == LINES[0]
    assert unpack(data) == (TEXT, [])


@pytest.mark.parametrize("name", PACKERS)
def test_streams_one_after_the_other(name: str) -> None:
    assert unpack(PACKED[name] * 3) == (TEXT * 3, [])


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.data())
@settings(deadline=None)
def test_cut_anywhere_keeps_the_blocks_before(name: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(PACKED[name])))
    text, damages = unpack(PACKED[name][:cut])
    assert TEXT.startswith(text)
    assert all(damage.at_end for damage in damages)
    assert damages or cut == 0 or name == "plain" or len(text) % BLOCK == 0 or text == TEXT
    # Whatever block was whole is there.
    assert len(text) >= max(size for size, packed in WHOLE[name] if packed <= cut)


@pytest.mark.parametrize("name", ["zstd", "lz4"])
def test_goes_on_after_a_damaged_block(name: str) -> None:
    data = bytearray(PACKED[name])
    header = data.index(data[:4], len(data) // 3)
    data[header : header + 40] = random.Random(1).randbytes(40)
    text, damages = unpack(bytes(data))
    assert damages
    assert not any(damage.at_end for damage in damages)
    assert text.startswith(TEXT[:BLOCK])
    assert text.endswith(TEXT[-BLOCK // 2 :])


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.data())
@settings(deadline=None)
def test_damage_never_raises(name: str, data: st.DataObject) -> None:
    broken = bytearray(PACKED[name])
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    unpack(bytes(broken))


@pytest.mark.parametrize("pattern", [b"a", b"ab", b"abc"])
def test_lzf_copies_that_overlap_themselves(pattern: bytes) -> None:
    # The pattern once, then a copy of 10 from its own length back.
    block = bytes([len(pattern) - 1, *pattern, 7 << 5, 1, len(pattern) - 1])
    expected = (pattern * 14)[: len(pattern) + 10]
    data = b"ZV\1" + len(block).to_bytes(2, "big") + len(expected).to_bytes(2, "big") + block
    assert unpack(data) == (expected, [])


def test_lzf_copy_from_before_the_start_is_damage() -> None:
    block = bytes([0, ord("a"), 1 << 5, 5])
    data = b"ZV\1" + len(block).to_bytes(2, "big") + (4).to_bytes(2, "big") + block
    assert unpack(data) == (b"", [Damage("an lzf block cannot be decompressed", at_end=False)])
