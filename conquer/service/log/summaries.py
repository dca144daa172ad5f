"""Every model's numbers without any model's weights: the counts in a snapshot's header, and the rows after it."""

import contextlib
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from conquer.service.log.counted import Counted
from conquer.service.log.loading import SPOILT, catch_up, without_base
from conquer.service.log.records import SAME_FOLD
from conquer.service.log.statistics import Tally
from conquer.service.log.tallies import read_tally
from conquer.service.store import log_table, snapshots

_EVENTS = 1000
_AT_ONCE = 1 << 20


def counts(connection: Connection, header: log_table.Header, complete: Sequence[int]) -> Tally:
    """What the model's log adds up to at the header's position. Reads a header and the rows since that snapshot.

    `complete` are the positions of its whole snapshots, newest first.
    """
    position, tally = _newest(connection, header, complete)
    if position == header.position:
        return tally
    counted = Counted(header.id, position, tally, log_table.undone(connection, header.id, position))
    catch_up(connection, counted, _EVENTS, last=header.position)
    return tally


def _newest(connection: Connection, header: log_table.Header, complete: Sequence[int]) -> tuple[int, Tally]:
    """The counts of the newest snapshot that can be read, and its position; else those of nothing.

    The one that stands for pruned rows is unpacked to its end: nothing else could make up for it.
    """
    for position in complete:
        same = position == header.base or snapshots.fold_of(connection, header.id, position) in SAME_FOLD
        if same and header.base <= position <= header.position:
            with contextlib.suppress(*SPOILT):
                return position, _stored(connection, header.id, position, whole=position == header.base > 0)
    return header.base, without_base(header)


def _stored(connection: Connection, model: int, position: int, whole: bool) -> Tally:
    """The counts beside a snapshot's weights; of the weights themselves nothing is kept, or (not `whole`) unpacked."""
    unpacker, data = zlib.decompressobj(), b""
    for piece in snapshots.read_pieces(connection, model, position):
        while piece and len(data) < (end := _end(data)):
            data += unpacker.decompress(piece, end - len(data))
            piece = unpacker.unconsumed_tail
        while whole and piece:
            unpacker.decompress(piece, _AT_ONCE)
            piece = unpacker.unconsumed_tail
        if not whole and len(data) >= _end(data):
            break
    if whole and not unpacker.eof:
        raise ValueError(f"the snapshot at {position} ends before its end")
    inner: dict[str, Any] = json.loads(json.loads(data[8:])["__metadata__"]["conquer"])
    text = inner.get("extra", inner).get("service", {}).get("tally")
    return read_tally(text) if text else Tally()


def _end(data: bytes) -> int:
    """How many bytes the header takes, as far as that is known: the first eight say."""
    return 8 if len(data) < 8 else 8 + int(struct.unpack("<Q", data[:8])[0])
