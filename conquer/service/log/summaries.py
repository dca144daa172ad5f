"""Every model's numbers without any model's weights: the counts in a snapshot's header, and the rows after it."""

import json
import struct
import zlib
from typing import Any

from sqlalchemy import Connection

from conquer.service.log.fold import Folded, Pick, tally_of
from conquer.service.log.loading import catch_up
from conquer.service.log.statistics import Tally
from conquer.service.store import log_table as store
from conquer.types import Choice

_EVENTS = 1000


class Counter:
    """Stands where the learner stands while only the counts are folded: it learns nothing and takes no room."""

    size = 0

    def parse(self, items: bytes, context: bytes) -> None:
        return None

    def choose(self, read: None, ordinal: int) -> Pick:
        raise NotImplementedError("only rows that are there already are counted")

    def learn(self, read: None, choice: Choice, value: float) -> None:
        return None

    def expose(self, read: None, choice: Choice) -> Choice:
        return choice

    def check(self, read: None, choice: Choice) -> tuple[str, ...]:
        raise NotImplementedError("only rows that are there already are counted")

    def dumps(self, extra: str) -> bytes:
        raise NotImplementedError("counts are stored with weights only")


def counts(connection: Connection, header: store.Header) -> Tally:
    """What the model's log adds up to at the header's position. Reads a header and the rows since that snapshot."""
    found = [position for position in store.complete(connection, header.id) if position <= header.position]
    position, tally = (found[0], _stored(connection, header.id, found[0])) if found else (0, Tally())
    folded = Folded(header.id, header.name, header.settings, Counter(), position, tally)
    folded.undone = store.undone(connection, header.id, position)
    catch_up(connection, folded, _EVENTS, last=header.position)
    return folded.tally


def _stored(connection: Connection, model: int, position: int) -> Tally:
    """The counts beside a snapshot's weights; of the weights themselves nothing is unpacked."""
    unpacker, data = zlib.decompressobj(), b""
    for piece in store.snapshot_parts(connection, model, position):
        while piece and len(data) < (end := _end(data)):
            data += unpacker.decompress(piece, end - len(data))
            piece = unpacker.unconsumed_tail
        if len(data) >= _end(data):
            break
    inner: dict[str, Any] = json.loads(json.loads(data[8:])["__metadata__"]["conquer"])
    text = inner.get("extra", inner).get("service", {}).get("tally")
    return tally_of(text) if text else Tally()


def _end(data: bytes) -> int:
    """How many bytes the header takes, as far as that is known: the first eight say."""
    return 8 if len(data) < 8 else 8 + int(struct.unpack("<Q", data[:8])[0])
