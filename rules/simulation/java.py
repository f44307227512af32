"""Orders that come from Java's collections: where Hadoop iterates over a HashMap, its order decides ties."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["hash_map_order", "node_id_hash", "string_hash"]

_INT = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """``String.hashCode``, as an unsigned 32-bit number."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & _INT
    return value


def spread(value: int) -> int:
    """``HashMap.hash``: the hash whose lowest bits choose the bucket."""
    return value ^ (value >> 16)


def hash_map_order(keys: Sequence[str]) -> list[str]:
    """The order in which a ``HashMap`` that these keys were put into, in their order, gives them back.

    Buckets in turn, each in the order of insertion; the table doubles when it is three quarters full.
    """
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda key: spread(string_hash(key)) & (buckets - 1))


def node_id_hash(index: int) -> int:
    """The spread hash of the id of a case's node (``NodeId.hashCode`` of its host and port 1234).

    Nodes of a case have no names; their hosts are counted through as 127.1.0.1, 127.1.0.2 and so on, 250 to a block.
    """
    host = f"127.{1 + index // 62500}.{index // 250 % 250}.{1 + index % 250}"
    value = (493217 * 8501 + string_hash(host)) & _INT
    return spread((493217 * value + 1234) & _INT)
