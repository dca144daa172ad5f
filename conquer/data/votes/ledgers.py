"""Our own logs as votes: the ledger of a service or of a session, its choices and answers, row by row."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from conquer.checks import is_real
from conquer.data.votes.winners import Answer
from conquer.items import parts_of
from conquer.rows import SparseRows

_OTHERS = ("open", "activate", "expiry", "correction", "flag", "fit", "measure", "erasure", "erased")
"""Rows that hold no votes."""
_LARGEST = 4096
"""Features of a session's rows that are made whole vectors."""


def is_ledger(row: Any) -> bool:
    """Whether a first row is the opening line of a ledger."""
    return isinstance(row, Mapping) and row.get("kind") == "open"


def ledger_rows(rows: Callable[[], Iterator[tuple[int, Any]]], passed: Callable[[], None]) -> Iterator[tuple[int, Any]]:
    """(line, row): the answers of a ledger as rows of votes, with what was shown beside them.

    `rows` gives all of its lines, and is asked twice: an answer that was undone later is no vote. `passed` is called
    for every answer that its service did not learn as a vote: late, asked again, or not about two things.
    """
    undone = {_body(row).get("undone") for _, row in rows() if _kind(row) == "correction"}
    shown: dict[Any, ShownPair | None] = {}
    for line, row in rows():
        kind = _kind(row)
        if kind == "choose":
            shown[str(row.get("event_id"))] = _shown(_body(row))
        elif kind == "ask":
            shown[str(row.get("id"))] = _offered(row)
        elif kind in ("answer", "tell", "vote"):
            if row.get("position") is not None and row.get("position") in undone:
                continue
            try:
                vote = _vote(row, kind, shown)
            except ValueError as error:
                yield line, error
                continue
            if vote is None:
                passed()
            else:
                yield line, vote
        elif kind not in _OTHERS:
            yield line, row if isinstance(row, ValueError) else ValueError(f"no row of a ledger: {row!r:.60}")


def _kind(row: Any) -> Any:
    kind = row.get("kind") if isinstance(row, Mapping) else None
    return kind if isinstance(kind, str) else None


def _body(row: Any) -> Mapping[str, Any]:
    body = row.get("body")
    return body if isinstance(body, Mapping) else {}


def content_of(item: Mapping[str, Any]) -> Any:
    """What an item of ours is: its text, its features, its vector, or several of them; without them its id."""
    found = parts_of(item)
    return item.get("id") if found is None else found


class ShownPair(NamedTuple):
    """What a question showed: two things, None where it was not about two; which was on the left; its context."""

    things: tuple[Any, Any]
    left: str | None = None
    context: Any = None
    planted: bool = False


def _shown(body: Mapping[str, Any]) -> ShownPair | None:
    """The question of a service's row; None where it is not about two things."""
    names = body.get("names")
    if not isinstance(names, list | tuple) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        return None
    items = body.get("items")
    contents: dict[str, Any] = {}
    for place, one in enumerate(items if isinstance(items, list | tuple) else ()):
        if isinstance(one, Mapping):
            contents[str(one.get("id", place))] = content_of(one)
        else:
            contents[str(place)] = one
    left = {names[0]: "first", names[1]: "second"}.get(str(body.get("left")))
    things = contents.get(names[0]), contents.get(names[1])
    return ShownPair(things, left, body.get("context"), bool(body.get("planted")))


def _offered(row: Mapping[str, Any]) -> ShownPair | None:
    """The question of a session's row, whose things are rows of numbers."""
    shown, rows, names = row.get("shown"), row.get("rows"), row.get("items")
    if not isinstance(shown, list | tuple) or len(shown) != 2:
        return None
    if not isinstance(rows, SparseRows) or rows.dim > _LARGEST:
        return ShownPair((None, None))
    one, two = rows.take(list(shown)).dense().tolist()
    left = None if not names else {names[shown[0]]: "first", names[shown[1]]: "second"}.get(row.get("left"))
    return ShownPair((one, two), left)


def _vote(row: Mapping[str, Any], kind: str, shown: Mapping[Any, ShownPair | None]) -> dict[str, Any] | None:
    """The row of one answer; None where it is no vote, a ValueError where it should be one and is not."""
    name = str(row.get("id" if kind == "tell" else "event_id"))
    body = row if kind == "tell" else _body(row)
    if kind != "vote" and name not in shown:
        raise ValueError(f"an answer to {name!r:.60}, which the ledger has not asked")
    question = _shown(body) if kind == "vote" else shown[name]
    if question is None or question.planted or body.get("reason") in ("late", "planted"):
        return None
    if any(thing is None for thing in question.things):
        more = f"; one of more than {_LARGEST:,} features is learnt again by replay()" if kind == "tell" else ""
        raise ValueError(f"the ledger does not hold what was shown{more}")
    value = body.get("answer" if kind == "tell" else "value")
    said = value if value is not None else {"both_bad": "both_bad"}.get(str(body.get("winner")), "skip")
    return {
        "text_1": question.things[0],
        "text_2": question.things[1],
        "winner": Answer(said) if is_real(said) else said,
        "shown_left": question.left,
        "voter": row.get("voter"),
        "kind": body.get("voter_kind" if kind == "tell" else "kind"),
        "weight": body.get("weight"),
        "context": question.context,
        "questionid": name if kind != "vote" else row.get("position"),
    }
