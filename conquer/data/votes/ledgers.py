"""Our own logs as votes: a service's ledger of choices and answers, line by line; any other row stays as it is."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conquer.checks import is_real
from conquer.data.votes.winners import Answer

_KINDS = ("open", "choose", "expose", "activate", "answer", "expiry", "correction", "flag", "fit", "measure", "erased")


def is_ledger(row: Any) -> bool:
    """Whether a first row is the opening line of a ledger."""
    return isinstance(row, Mapping) and row.get("kind") == "open"


def ledger_rows(rows: Callable[[], Iterator[tuple[int, Any]]]) -> Iterator[tuple[int, Any]]:
    """(line, row): the answers of a ledger as rows of votes, with what was shown beside them.

    `rows` gives all of its lines, and is asked twice: an answer that was undone later is no vote.
    """
    undone = {_body(row).get("undone") for _, row in rows() if _kind(row) == "correction"}
    shown: dict[Any, tuple[dict[Any, Any], Any, Any]] = {}
    for line, row in rows():
        kind = _kind(row)
        if kind not in _KINDS:
            yield line, row if isinstance(row, ValueError) else ValueError(f"no row of a ledger: {row!r:.60}")
        elif kind == "choose":
            body, items = _body(row), _body(row).get("items")
            contents = {
                one.get("id"): content_of(one)
                for one in (items if isinstance(items, list) else ())
                if isinstance(one, Mapping) and isinstance(one.get("id"), str)
            }
            shown[str(row.get("event_id"))] = contents, body.get("names"), body
        elif kind == "answer" and row.get("position") not in undone:
            decision = shown.get(str(row.get("event_id")))
            vote = None if decision is None else _vote(decision, row, _body(row))
            if vote is not None:
                yield line, vote


def _kind(row: Any) -> Any:
    kind = row.get("kind") if isinstance(row, Mapping) else None
    return kind if isinstance(kind, str) else None


def _body(row: Any) -> Mapping[str, Any]:
    body = row.get("body")
    return body if isinstance(body, Mapping) else {}


def content_of(item: Mapping[str, Any]) -> Any:
    """What an item of ours is: its text, its features or its vector; without them its id."""
    for name in ("text", "features", "vector"):
        if item.get(name) is not None:
            return item[name]
    return item.get("id")


def _vote(decision: tuple[dict[Any, Any], Any, Any], row: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    """The row of one answer; None where it was not about two things, or asked only to see whether people agree."""
    contents, names, chosen = decision
    if not isinstance(names, list) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        return None
    if chosen.get("planted") or body.get("reason") == "late":
        return None
    value = body.get("value")
    said = value if value is not None else {"both_bad": "both_bad"}.get(str(body.get("winner")), "skip")
    one, two = (contents.get(name, name) for name in names)
    context = chosen.get("context")
    return {
        "text_1": one,
        "text_2": two,
        "winner": Answer(said) if is_real(said) else said,
        "shown_left": {names[0]: "first", names[1]: "second"}.get(str(chosen.get("left"))),
        "voter": row.get("voter"),
        "context": None if context is None else json.dumps(context, sort_keys=True),
        "questionid": row.get("event_id"),
    }
