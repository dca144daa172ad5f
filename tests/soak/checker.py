"""A client-side history against the logs of the store: nothing lost, doubled, out of order or contradicted."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .history import ACKNOWLEDGED, INDETERMINATE, REFUSED, Call

_KINDS = {"choose": "choose", "answer": "answer", "correction": "undo"}
Thing = tuple[str, str, str]
FAULTS = ("lost", "doubled", "disordered", "contradicted", "denied", "undeleted", "surprising")
# Too many are waiting, the store is away: a server may say so at any time, and the call can be made again.
_PASSING = ("429 ", "503 ")


@dataclass
class Verdict:
    """How many calls of each outcome, how many faults of each kind, and the first of them in words."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return sum(self.counts[name] for name in FAULTS)

    def fault(self, name: str, text: str) -> None:
        self.counts[name] += 1
        if len(self.examples) < 20:
            self.examples.append(f"{name}: {text}")


def check(calls: Sequence[Call], logs: Mapping[str, Sequence[Any]]) -> Verdict:
    """`logs`: the rows of every model that the store has now.

    `lost` was acknowledged and is not there. `doubled` is there twice. `disordered` was acknowledged before another was
    sent, and lies behind it. `contradicted` was chosen or answered otherwise than a client was told. `denied` was
    refused and is there, from before anything else was tried. `undeleted` was deleted and is there. `surprising` is a
    refusal without a reason.
    """
    verdict = Verdict()
    by_model: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_model[call.model].append(call)
        verdict.counts["requests"] += 1
        verdict.counts[call.outcome] += 1
    for model, own in by_model.items():
        deletes = [call for call in own if call.kind == "delete"]
        if any(call.outcome == ACKNOWLEDGED for call in deletes) and model in logs:
            verdict.fault("undeleted", f"model {model} is there after its deletion was acknowledged")
        _surprises(own, bool(deletes), verdict)
        if model in logs:
            _check_model(model, own, logs[model], verdict)
        elif not any(call.outcome != REFUSED for call in deletes):
            verdict.fault("lost", f"model {model} is not there, and nobody deleted it")
    return verdict


def _surprises(calls: Sequence[Call], deleted: bool, verdict: Verdict) -> None:
    """Refusals that no client has earned: an event forgotten, an answer said to be another's."""
    undone = {(call.event, call.voter) for call in calls if call.kind == "undo"}
    for call in calls:
        if call.outcome != REFUSED or call.said.startswith(_PASSING):
            continue
        if call.said == "404 unknown_model" and deleted:
            continue
        if call.said == "409 not_answered" and call.kind == "undo" and (call.event, call.voter) in undone:
            # An undo that was cut off may have been done; a second one finds nothing.
            earlier = [one for one in calls if one.thing == call.thing and one.sent < call.sent]
            if any(one.outcome == INDETERMINATE for one in earlier):
                continue
        verdict.fault("surprising", f"{call.model} {call.thing} was refused: {call.said}")


def _check_model(model: str, calls: Sequence[Call], rows: Sequence[Any], verdict: Verdict) -> None:
    found: dict[Thing, list[Any]] = defaultdict(list)
    for row in rows:
        if row.kind in _KINDS:
            voter = "" if row.kind == "choose" else row.voter or ""
            found[_KINDS[row.kind], row.event, voter].append(row)
    for thing, there in found.items():
        if len(there) > 1:
            verdict.fault("doubled", f"{model} {thing} at {[row.position for row in there]}")
    attempts: dict[Thing, list[Call]] = defaultdict(list)
    for call in calls:
        if call.kind != "delete":
            attempts[call.thing].append(call)
    for thing, own in attempts.items():
        row = found[thing][0] if thing in found else None
        _check_thing(model, own, row, verdict)
    _check_order(model, attempts, found, verdict)


def _check_thing(model: str, attempts: Sequence[Call], row: Any, verdict: Verdict) -> None:
    done = [call for call in attempts if call.outcome == ACKNOWLEDGED]
    if done and row is None:
        verdict.fault("lost", f"{model} {done[0].thing} was acknowledged and is not in the log")
    first = next((call for call in attempts if call.outcome != REFUSED), None)
    if row is not None and first is not attempts[0] and (first is None or row.at < first.at):
        verdict.fault("denied", f"{model} {attempts[0].thing} was refused ({attempts[0].said}) and is in the log")
    told = {call.said for call in done} | ({said_of(row)} if row is not None and done else set())
    if len(told) > 1:
        verdict.fault("contradicted", f"{model} {done[0].thing}: {sorted(told)}")
    for place, call in enumerate(attempts):
        if call.outcome == INDETERMINATE:
            later = [one.at for one in attempts[place + 1 :]]
            was = row is not None and (not later or row.at < later[0])
            verdict.counts["indeterminate_done" if was else "indeterminate_not_done"] += 1


def said_of(row: Any) -> str:
    """What a row says that a reply must have said: the items shown and the left one, or the winner."""
    if row.kind == "choose":
        return " ".join([*row.body.names, "|", row.body.left])
    return str(row.body.winner) if row.kind == "answer" else ""


def _check_order(
    model: str, attempts: Mapping[Thing, Sequence[Call]], found: Mapping[Thing, Sequence[Any]], verdict: Verdict
) -> None:
    """In the order of the log: nothing may have been acknowledged before something earlier in the log was sent."""
    placed = sorted((rows[0].position, thing) for thing, rows in found.items() if thing in attempts)
    latest, which = -1, None
    for position, thing in placed:
        got = min((call.got for call in attempts[thing] if call.outcome == ACKNOWLEDGED), default=None)
        if got is not None and got < latest:
            verdict.fault("disordered", f"{model} {thing} at {position} lies behind {which}, which was sent later")
        sent = min(call.sent for call in attempts[thing])
        if sent > latest:
            latest, which = sent, thing
