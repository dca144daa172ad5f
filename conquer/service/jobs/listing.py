"""Every model with its numbers, made into bytes beside the event loop: there may be a thousand of them."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from conquer.service.http.schemas import ModelSettings
from conquer.service.log.fold import Folded
from conquer.service.log.summaries import counts
from conquer.service.store import log_table, snapshots
from conquer.service.store.database import Database
from conquer.service.writer.queue import Writer

_SLICE = 50
"""Models at once: others wait for the writer meanwhile."""
_encode = msgspec.json.Encoder().encode


class ModelInfo(msgspec.Struct):
    """A model: how it was made, how far its log goes, and what the log adds up to."""

    name: str
    settings: ModelSettings
    position: int
    summary: dict[str, Any]
    title: str | msgspec.UnsetType = msgspec.UNSET
    """What pages call it, where that is not its name."""
    paused: bool | msgspec.UnsetType = msgspec.UNSET
    """Where nobody is asked anything new for now."""

    @classmethod
    def of(cls, header: log_table.Header, position: int, summary: dict[str, Any]) -> "ModelInfo":
        title, paused = header.title or msgspec.UNSET, header.paused or msgspec.UNSET
        return cls(header.name, header.settings, position, summary, title, paused)


def described(folded: Folded, header: log_table.Header) -> ModelInfo:
    """A model in memory, as it is now."""
    return ModelInfo.of(header, folded.position, folded.tally.summary())


class Listing:
    """Models in memory answer for themselves; the others are counted from the store, without their weights."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database, self._writer = database, writer
        self._known: dict[int, tuple[log_table.Header, bytes]] = {}
        """Of models that are not in memory: (the header then, the encoded info)."""

    def headers(self) -> list[log_table.Header]:
        """Every model as it stands in the store; numbers of those that have gone are forgotten."""
        with self._database.reading() as connection:
            headers = log_table.all_headers(connection)
        here = {header.id for header in headers}
        # A copy: other threads that list models add to it meanwhile.
        self._known = {model: known for model, known in self._known.copy().items() if model in here}
        return headers

    def encoded(self, may: Callable[[str], bool]) -> bytes:
        """The JSON of all models whose names one `may` read, in the order of their names. Not for the event loop."""
        headers = [header for header in self.headers() if may(header.name)]
        found: dict[str, bytes] = {}
        in_memory = self._writer.models
        for part in _slices([header for header in headers if header.name in in_memory]):
            found |= self._writer.call_now(None, functools.partial(self._from_memory, part))
        for part in _slices([header for header in headers if header.name not in found]):
            found |= self._from_store(part)
        return b'{"models":[' + b",".join(found[one.name] for one in headers if one.name in found) + b"]}"

    def _from_memory(self, headers: Sequence[log_table.Header], _: Connection) -> dict[str, bytes]:
        """Those that are in memory and know all their rows; on a shared store others may have written some."""
        found = ((header, self._writer.models.get(header.name)) for header in headers)
        return {
            header.name: _encode(described(folded, header))
            for header, folded in found
            if folded is not None and folded.id == header.id and folded.position >= header.position
        }

    def _from_store(self, headers: Sequence[log_table.Header]) -> dict[str, bytes]:
        """Counted anew only where the log has grown or the title has changed. What was deleted since is left out."""
        known = [(header, *self._known.get(header.id, (None, b""))) for header in headers]
        found = {header.name: info for header, then, info in known if then == header}
        names = [header.name for header in headers if header.name not in found]
        with self._database.reading() as connection:
            # The log may have been pruned since: a header must be of the same moment as the rows.
            now = log_table.headers(connection, names, lock=False) if names else {}
            complete = snapshots.all_complete(connection, [header.id for header in now.values()])
            for name, header in now.items():
                summary = counts(connection, header, complete.get(header.id, [])).summary()
                info = ModelInfo.of(header, header.position, summary)
                self._known[header.id] = header, (encoded := _encode(info))
                found[name] = encoded
        return found


def _slices(headers: list[log_table.Header]) -> Iterator[list[log_table.Header]]:
    return (headers[start : start + _SLICE] for start in range(0, len(headers), _SLICE))
