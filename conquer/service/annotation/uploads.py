"""Files of items, JSON lines or CSV, to the groups of items that questions are drawn from."""

from typing import Any

import msgspec

from conquer.data.items import PROMPTS, csv_rows, item_of_cells
from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.http.decoding import decoded
from conquer.service.http.schemas import ANSWER_WORDS, Group, Item, NewContext, NewItem

_row = msgspec.json.Decoder(dict[str, Any]).decode
_DEPTH = 8
"""A group, its items, an item, its features: no row is nested deeper than half of it."""


def read_groups(data: bytes) -> list[Group]:
    """Groups in the file's order; items without a context of their own make one group, the first.

    A JSON line is an item, `{"id", "text"}` with an optional `prompt`, or a whole group, `{"prompt", "items": [...]}`
    or `{"prompt", "responses": ["...", "..."]}`. A CSV needs a header; without a `text` column all columns but `id`
    and `prompt` are features.

    >>> groups = read_groups(b'id,text\\na,good tea\\nb,bad tea\\n')
    >>> [item.text for item in groups[0].items]
    ['good tea', 'bad tea']
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(f"the file is not UTF-8: {error}") from None
    first = text.lstrip()[:1]
    if not first:
        raise invalid("the file is empty")
    rows = _json_rows(text) if first == "{" else _csv_rows(text)
    if not rows:
        raise invalid("the file has no items")
    return _grouped(rows)


def _json_rows(text: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = decoded(_row, line.encode(), f"line {number}")
        except RefusalError as refusal:
            raise invalid(refusal.message) from None
        if not _shallow(row, _DEPTH):
            raise invalid(f"line {number} is nested deeper than {_DEPTH}")
        rows.append(row)
    return rows


def _shallow(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return not isinstance(value, list) or (depth > 0 and all(_shallow(one, depth - 1) for one in value))


def _csv_rows(text: str) -> list[dict[str, Any]]:
    try:
        return [item_of_cells(row) for _, row in csv_rows(text)]
    except ValueError as error:
        raise invalid(f"{error}") from None


def _grouped(rows: list[dict[str, Any]]) -> list[Group]:
    groups: dict[str, Group] = {}
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        context = next((row.pop(name) for name in PROMPTS if row.get(name) is not None), None)
        listed = row.pop("items", None) or row.pop("responses", None)
        if listed is None:
            key, found = repr(context), [row]
        else:
            key, found = f"{number}", listed if isinstance(listed, list) else [listed]
        group = groups.setdefault(key, Group([], context))
        for place, one in enumerate(found, 1):
            group.items.append(_item(one, f"{number}-{place}" if listed else str(number), number, seen))
    return [_checked(group) for group in groups.values()]


def _item(given: Any, fallback: str, number: int, seen: set[str]) -> Item:
    fields = {"text": given} if isinstance(given, str) else dict(given) if isinstance(given, dict) else {}
    name = str(fields.get("id") or fallback)
    kept = {key: fields[key] for key in ("text", "features", "vector") if fields.get(key) is not None}
    if len(kept) != 1:
        raise invalid(f"item {number} needs exactly one of text, features, vector, got {sorted(fields)}")
    if name in ANSWER_WORDS or name in seen:
        raise invalid(f"item {number}: the id {name!r} is {'reserved' if name in ANSWER_WORDS else 'there twice'}")
    seen.add(name)
    try:
        return msgspec.convert({"id": name, **kept}, NewItem)
    except msgspec.ValidationError as error:
        raise invalid(f"item {number}: {error}") from None


def _checked(group: Group) -> Group:
    if len(group.items) < 2:
        raise RefusalError(Kind.INVALID, "invalid", f"{group.items[0].id!r} stands alone: a question needs two items")
    try:
        group.context = msgspec.convert(group.context, NewContext)
    except msgspec.ValidationError as error:
        raise invalid(f"the context of {group.items[0].id!r}: {error}") from None
    return group
