"""The list of models with their counts, without loading any model's weights."""

import contextlib
import functools
import json
import struct
import zlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import SPOILT, catch_up, without_base
from conquer.service.model.counts import Counted
from conquer.service.model.records import FOLD
from conquer.service.model.schemas import ModelSettings
from conquer.service.model.state import ModelState
from conquer.service.model.stored_tally import read_tally
from conquer.service.model.tally import Tally
from conquer.service.store import log as log_table
from conquer.service.store import snapshots
from conquer.service.store.database import Database

_SLICE = 50
"""Models in one slice."""
_EVENTS = 1000
_AT_ONCE = 1 << 20
_encode = msgspec.json.Encoder().encode


class ModelInfo(msgspec.Struct):
    """A model: its settings, the position of its log, and what the log adds up to."""

    name: str
    settings: ModelSettings
    position: int
    summary: dict[str, Any]
    title: str | msgspec.UnsetType = msgspec.UNSET
    """The name on pages, where it is not `name`."""
    paused: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether no new questions are asked for now."""

    @classmethod
    def of(cls, header: log_table.Header, position: int, summary: dict[str, Any]) -> "ModelInfo":
        title, paused = header.title or msgspec.UNSET, header.paused or msgspec.UNSET
        return cls(header.name, header.settings, position, summary, title, paused)


def described(state: ModelState, header: log_table.Header) -> ModelInfo:
    """A model in memory, as it is now."""
    return ModelInfo.of(header, state.position, state.tally.summary())


class Listing:
    """Counts of models in memory come from the engine; those of others from the store, and are kept."""

    def __init__(self, database: Database, engine: Engine) -> None:
        self._database, self._engine = database, engine
        self._known: dict[int, tuple[log_table.Header, bytes]] = {}
        """By id of a model that is not in memory: its header, and its encoded info."""

    def headers(self) -> list[log_table.Header]:
        """Every model in the store; infos of deleted models are dropped."""
        with self._database.reading() as connection:
            headers = log_table.all_headers(connection)
        here = {header.id for header in headers}
        # A copy: other threads add to it meanwhile.
        self._known = {model: known for model, known in self._known.copy().items() if model in here}
        return headers

    def encoded(self, may: Callable[[str], bool]) -> Generator[None, None, bytes]:
        """The JSON of all models whose names satisfy `may`, by name; long work."""
        headers = [header for header in self.headers() if may(header.name)]
        found: dict[str, bytes] = {}
        in_memory = [header for header in headers if header.name in self._engine.models]
        for start in range(0, len(in_memory), _SLICE):
            yield
            part = in_memory[start : start + _SLICE]
            found |= self._engine.call_now(None, functools.partial(self._from_memory, part))
        for header in headers:
            if header.name not in found and (known := self._known.get(header.id)) and known[0] == header:
                found[header.name] = known[1]
        left = [header.name for header in headers if header.name not in found]
        for start in range(0, len(left), _SLICE):
            yield
            found |= self._from_store(left[start : start + _SLICE])
        return b'{"models":[' + b",".join(found[one.name] for one in headers if one.name in found) + b"]}"

    def _from_memory(self, headers: Sequence[log_table.Header], _: Connection) -> dict[str, bytes]:
        """Models in memory that have all their rows; on a shared store another server may have written some."""
        found = ((header, self._engine.models.get(header.name)) for header in headers)
        return {
            header.name: _encode(described(state, header))
            for header, state in found
            if state is not None and state.id == header.id and state.position >= header.position
        }

    def _from_store(self, names: Sequence[str]) -> dict[str, bytes]:
        """Count models from the store. Models deleted meanwhile are left out."""
        found: dict[str, bytes] = {}
        with self._database.reading() as connection:
            # Read again: a header must be as old as the rows, which may have been pruned since.
            now = log_table.headers(connection, names)
            complete = snapshots.all_complete(connection, [header.id for header in now.values()])
            for name, header in now.items():
                summary = counts(connection, header, complete.get(header.id, [])).summary()
                found[name] = _encode(ModelInfo.of(header, header.position, summary))
                self._known[header.id] = header, found[name]
        return found


def counts(connection: Connection, header: log_table.Header, complete: Sequence[int]) -> Tally:
    """The counts of a model's log at the header's position, from a snapshot's header and the rows after it.

    `complete`: positions of its complete snapshots, newest first.
    """
    position, tally = _newest(connection, header, complete)
    if position == header.position:
        return tally
    counted = Counted(header.id, position, tally, log_table.undone(connection, header.id, position))
    catch_up(connection, counted, _EVENTS, last=header.position)
    return tally


def _newest(connection: Connection, header: log_table.Header, complete: Sequence[int]) -> tuple[int, Tally]:
    """The counts in the newest readable snapshot, and its position; else those of an empty log.

    The snapshot that replaces pruned rows is unpacked completely, to check it: nothing else has its content.
    """
    for position in complete:
        same = position == header.base or snapshots.fold_of(connection, header.id, position) == FOLD
        if same and header.base <= position <= header.position:
            with contextlib.suppress(*SPOILT):
                return position, _stored(connection, header.id, position, whole=position == header.base > 0)
    return header.base, without_base(header)


def _stored(connection: Connection, model: int, position: int, whole: bool) -> Tally:
    """The counts in a snapshot's header. Weights are not kept, and unpacked only if `whole`."""
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
        raise ValueError(f"the snapshot at {position} is cut off")
    inner: dict[str, Any] = json.loads(json.loads(data[8:])["__metadata__"]["conquer"])
    text = inner.get("extra", inner).get("service", {}).get("tally")
    return read_tally(text) if text else Tally()


def _end(data: bytes) -> int:
    """Bytes of the header, whose first eight contain its length."""
    return 8 if len(data) < 8 else 8 + int(struct.unpack("<Q", data[:8])[0])
