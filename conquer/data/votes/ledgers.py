"""Our own logs as votes: a service's ledger of choices and answers, line by line; any other row stays as it is."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_KINDS = ("open", "choose", "expose", "activate", "answer", "expiry", "correction", "flag", "fit", "measure", "erased")


def ledger_rows(rows: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """(line, row): the answers of a ledger as rows of votes, with what was shown beside them; other rows untouched.

    A ledger begins with its "open" line. An answer that was undone later is no vote, so all of its lines are read
    before the first vote is given.
    """
    first = next(rows, None)
    if first is None:
        return
    if not (isinstance(first[1], Mapping) and first[1].get("kind") == "open"):
        yield first
        yield from rows
        return
    shown: dict[Any, tuple[dict[Any, Any], Any, Any]] = {}
    found: dict[Any, tuple[int, Any]] = {}
    for line, row in rows:
        if not isinstance(row, Mapping) or row.get("kind") not in _KINDS:
            found[("bad", line)] = line, row if isinstance(row, ValueError) else ValueError(f"no log row: {row!r:.60}")
            continue
        given = row.get("body")
        body = given if isinstance(given, Mapping) else {}
        event = row.get("event_id")
        if row["kind"] == "choose":
            items = body.get("items") if isinstance(body.get("items"), list) else []
            contents = {one.get("id"): content_of(one) for one in items or () if isinstance(one, Mapping)}
            shown[event] = contents, body.get("names"), body
        elif row["kind"] == "answer" and event in shown:
            vote = _vote(shown[event], row, body)
            if vote is not None:
                found[row.get("position", line)] = line, vote
        elif row["kind"] == "correction":
            found.pop(body.get("undone"), None)
    yield from found.values()


def content_of(item: Mapping[str, Any]) -> Any:
    """What an item of ours is: its text, its features or its vector; without them its id."""
    for name in ("text", "features", "vector"):
        if item.get(name) is not None:
            return item[name]
    return item.get("id")


def _vote(decision: tuple[dict[Any, Any], Any, Any], row: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    """The row of one answer; None where it was not about two things, or asked only to see whether people agree."""
    contents, names, chosen = decision
    if not isinstance(names, list) or len(names) != 2 or chosen.get("planted") or body.get("reason") == "late":
        return None
    value = body.get("value")
    said = value if value is not None else {"both_bad": "both_bad"}.get(str(body.get("winner")), "skip")
    one, two = (contents.get(name, name) for name in names)
    context = chosen.get("context")
    return {
        "first": one,
        "second": two,
        "winner": float(said) if isinstance(said, int | float) else said,
        "voter": row.get("voter"),
        "context": None if context is None else json.dumps(context, sort_keys=True),
        "questionid": row.get("event_id"),
    }
