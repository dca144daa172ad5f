"""Ledgers as votes: the choices and answers in the log of a service or of a session."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from conquer.checks import is_real
from conquer.data.outcomes import Strength
from conquer.items import parts_of
from conquer.rows import SparseRows

_OTHERS = ("open", "cancel", "expiry", "correction", "flag", "fit", "erasure", "erased")
"""Rows that hold no votes."""
_LARGEST = 4096
"""Features of a session's rows up to which items are read as vectors."""


def is_ledger(row: Any) -> bool:
    """Whether a first row is the opening line of a ledger."""
    return isinstance(row, Mapping) and row.get("kind") == "open"


def ledger_rows(rows: Callable[[], Iterator[tuple[int, Any]]]) -> Iterator[tuple[int, Any]]:
    """(line, row): the answers of a ledger as rows of votes, with the items that were shown.

    `rows` gives all lines and is called twice, because answers that are undone later do not count. The row is None for
    an answer that the service did not learn as a vote: late, asked again, or not about two items.
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
                yield line, _vote(row, kind, shown)
            except ValueError as error:
                yield line, error
        elif kind not in _OTHERS:
            yield line, row if isinstance(row, ValueError) else ValueError(f"not a row of a ledger: {row!r:.60}")


def _kind(row: Any) -> Any:
    kind = row.get("kind") if isinstance(row, Mapping) else None
    return kind if isinstance(kind, str) else None


def _body(row: Any) -> Mapping[str, Any]:
    body = row.get("body")
    return body if isinstance(body, Mapping) else {}


class ShownPair(NamedTuple):
    """What a question showed: two items, the one on the left, and the context; `ids`: an item is its id alone."""

    items: tuple[Any, Any]
    left: str | None = None
    context: Any = None
    planted: bool = False
    ids: bool = False


def _shown(body: Mapping[str, Any]) -> ShownPair | None:
    """The question of a service's row; None where it is not about two items."""
    names = body.get("names")
    if not isinstance(names, list | tuple) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        return None
    items = body.get("items")
    contents: dict[str, Any] = {}
    ids = False
    for place, one in enumerate(items if isinstance(items, list | tuple) else ()):
        if isinstance(one, Mapping):
            parts = parts_of(one)
            contents[str(one.get("id", place))] = one.get("id") if parts is None else parts
            ids |= parts is None
        else:
            contents[str(place)] = one
    left = {names[0]: "first", names[1]: "second"}.get(str(body.get("left")))
    both = contents.get(names[0]), contents.get(names[1])
    return ShownPair(both, left, body.get("context"), bool(body.get("planted")), ids)


def _offered(row: Mapping[str, Any]) -> ShownPair | None:
    """The question of a session's row, whose items are rows of numbers."""
    shown, rows, names = row.get("shown"), row.get("rows"), row.get("items")
    if not isinstance(shown, list | tuple) or len(shown) != 2:
        return None
    if not isinstance(rows, SparseRows) or rows.dim > _LARGEST:
        return ShownPair((None, None))
    one, two = rows.take(list(shown)).dense().tolist()
    left = None if not names else {names[shown[0]]: "first", names[shown[1]]: "second"}.get(row.get("left"))
    return ShownPair((one, two), left)


def _vote(row: Mapping[str, Any], kind: str, shown: Mapping[Any, ShownPair | None]) -> dict[str, Any] | None:
    """The row of one answer; None if it is not a vote. Raises a ValueError if it is a vote that cannot be read."""
    name = str(row.get("id" if kind == "tell" else "event_id"))
    body = row if kind == "tell" else _body(row)
    if kind != "vote" and name not in shown:
        raise ValueError(f"an answer to {name!r:.60}, a question that is not in the ledger")
    question = _shown(body) if kind == "vote" else shown[name]
    if question is None or question.planted or body.get("reason") in ("late", "planted"):
        return None
    if any(item is None for item in question.items):
        more = f"; with more than {_LARGEST:,} features, learn it again with replay()" if kind == "tell" else ""
        raise ValueError(f"the ledger does not hold the items that were shown{more}")
    value = body.get("answer" if kind == "tell" else "value")
    said = value if value is not None else "both_bad" if body.get("winner") == "both_bad" else "skip"
    one, two = ("item_1", "item_2") if question.ids else ("text_1", "text_2")
    return {
        one: question.items[0],
        two: question.items[1],
        "winner": Strength(said) if is_real(said) else said,
        "shown_left": question.left,
        "voter": row.get("voter"),
        "kind": body.get("voter_kind" if kind == "tell" else "kind"),
        "weight": body.get("weight"),
        "context": question.context,
        "questionid": name if kind != "vote" else row.get("position"),
    }
