"""What the clients know: every request they sent, and what came back, kept in a file as it happens."""

import itertools
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ACKNOWLEDGED, REFUSED, INDETERMINATE = "acknowledged", "refused", "indeterminate"
_FLOOD = 5_000_000
"""Ticks between two runs on one history: more than one run can use up."""


@dataclass(slots=True)
class Call:
    """One attempt at one thing: a choose, an answer, an undo or a delete.

    `sent` and `got` are ticks of the clients' own clock. `said` is what the reply says that a repetition must say too.
    """

    number: int
    kind: str
    model: str
    event: str
    voter: str
    sent: int
    at: float
    wished: str = ""
    """An answer's winner."""
    got: int = 0
    outcome: str = INDETERMINATE
    said: str = ""
    """An offer's items and left side, an answer's winner; of a refusal its status and code."""
    reply: Any = None
    """The reply itself, while it is needed; not kept in the file."""

    @property
    def thing(self) -> tuple[str, str, str]:
        """What a row of the model's log would be about."""
        return self.kind, self.event, self.voter


_KEPT = ("number", "kind", "model", "event", "voter", "sent", "at", "wished")
Thing = tuple[str, str, str, str, str]
"""(kind, model, event, voter, wished) of something asked for."""


class History:
    """All calls of one store. A history that was cut off knows which calls were on their way.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "h.jsonl"
    ...     history = History(path)
    ...     one, two = history.begin([("choose", "m", "e1", "", ""), ("choose", "m", "e2", "", "")])
    ...     history.end(one, ACKNOWLEDGED, "a b")
    ...     history.close()
    ...     again = History(path)
    ...     again.close()
    >>> [(call.event, call.outcome) for call in again.calls]
    [('e1', 'acknowledged'), ('e2', 'indeterminate')]
    """

    def __init__(self, path: Path) -> None:
        self.calls: list[Call] = []
        for line in path.read_bytes().splitlines() if path.exists() else ():
            self._read(line)
        last = max((max(call.sent, call.got) for call in self.calls), default=0)
        self._ticks = itertools.count(last + _FLOOD if last else 1)
        self._file: IO[bytes] = path.open("ab", buffering=0)

    def _read(self, line: bytes) -> None:
        try:
            record: dict[str, Any] = json.loads(line)
        except ValueError:
            return  # the last line of a run that was killed while it wrote
        if "kind" in record:
            self.calls.append(Call(**record))
        elif record["number"] < len(self.calls):
            call = self.calls[record["number"]]
            call.got, call.outcome, call.said = record["got"], record["outcome"], record["said"]

    def _write(self, records: Iterable[dict[str, Any]]) -> None:
        self._file.write(b"".join(json.dumps(one).encode() + b"\n" for one in records))

    def begin(self, things: Iterable[Thing]) -> list[Call]:
        """One request is about to be sent, for these things."""
        tick, now = next(self._ticks), time.time()
        made = []
        for kind, model, event, voter, wished in things:
            made.append(Call(len(self.calls), kind, model, event, voter, tick, now, wished))
            self.calls.append(made[-1])
        self._write({name: getattr(call, name) for name in _KEPT} for call in made)
        return made

    def end(self, call: Call, outcome: str, said: str = "") -> None:
        call.got, call.outcome, call.said = next(self._ticks), outcome, said
        self._write([{"number": call.number, "got": call.got, "outcome": outcome, "said": said}])

    def close(self) -> None:
        self._file.close()
