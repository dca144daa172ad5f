"""Files of items to the groups of items that questions are drawn from, and what was made of their columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec

from conquer.data.columns import TEXT
from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.model.schemas import ANSWER_WORDS, LARGEST, Group, Item, NewContext, NewItem, Value
from conquer.service.work.cells import in_table, is_shown, shown_in
from conquer.service.work.roles import PAIR, roles_of
from conquer.service.work.table_rows import FileRow, read_rows

_LARGE = 10
"""A word counts as 1, and the longest feature decides what a row of length 1 looks like."""
_SENTENCE = 10
"""Words in a cell that can be no category."""


@dataclass(slots=True)
class Contents:
    """What a file holds: its groups, and what was made of its columns.

    `text` is the column that the texts are from, `features` are the columns that became features, `shown` those that
    people see and nobody learns, `unused` those that nothing was made of, `empty` counts the rows left out because
    their text is empty, `large` are features whose numbers outweigh everything else.
    """

    groups: list[Group] = field(default_factory=list)
    text: str | None = None
    features: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    empty: int = 0
    shown: list[str] = field(default_factory=list)
    large: list[str] = field(default_factory=list)

    def described(self) -> str:
        """In words, for those who started it.

        >>> Contents([], "Review", [], ["Date"], 2).described()
        "text from 'Review'; not used: Date; 2 rows without a text left out"
        """
        said = [f"text from {self.text!r}"] if self.text else []
        said += [f"no text column; taken as features: {', '.join(self.features)}"] if self.features else []
        said += [f"shown and not learnt: {', '.join(self.shown)}"] if self.shown else []
        said += [f"not used: {', '.join(self.unused)}"] if self.unused else []
        said += [f"large numbers, to be divided: {', '.join(self.large)}"] if self.large else []
        return "; ".join([*said, *([f"{self.empty} rows without a text left out"] if self.empty else [])])


def read_groups(data: bytes) -> list[Group]:
    """The groups of a file alone, in the file's order.

    >>> [item.text for item in read_groups(b'id,Review\\na,good tea\\nb,bad tea\\n')[0].items]
    ['good tea', 'bad tea']
    """
    return read_items(data).groups


def read_items(data: bytes, text: str | None = None, images: Mapping[str, str] = MappingProxyType({})) -> Contents:
    """What is in a file; items without a context of their own make one group, the first.

    A row is an item, `{"id", "text"}` with an optional `prompt`; a whole group, `{"prompt", "items": [...]}` or
    `{"prompt", "responses": ["...", "..."]}`; or a pair, `{"prompt", "chosen", "rejected"}`. Columns are found by their
    usual names (`conquer.data.columns`) in any case; `text` names the column of the texts. In a table without such a
    column, vectors or features all others are features, unless one holds sentences. `images` are names of uploaded
    images by the names of their files.
    """
    rows, table = read_rows(data)
    names = list(dict.fromkeys(name for row in rows for name in row))
    roles = roles_of(names, text)
    if text is not None and roles.text is None:
        raise invalid(f"there is no column {text!r} among {', '.join(names)}")
    features: list[str] = []
    if table:
        rows = [in_table(row) for row in rows]
        if roles.text is None and not roles.pair and not {"features", "vector"} & {*names}:
            features = [name for name in names if name not in (roles.id, *roles.prompts) and not is_shown(name)]
            rows = _with_features(rows, features) if features else rows
    found = _Grouping(text, images).run(rows)
    found.features = features
    found.shown = [name for name in names if is_shown(name) and name not in found.unused]
    found.unused = [name for name in found.unused if name not in features]
    return found


def _with_features(rows: list[FileRow], names: Sequence[str]) -> list[FileRow]:
    """The rows of a table without a column of texts, these columns as features."""
    for name in names:
        if any(len(row[name].split()) >= _SENTENCE for row in rows):
            raise invalid(
                f"the column {name!r} holds sentences, but only {', '.join(TEXT)} are taken for texts: rename it, or "
                f"name it (text={name} in the address, --text {name} for conquer serve)"
            )
    own = [{name: cell for name, cell in row.items() if name not in names} for row in rows]
    features = [{name: _number(row[name]) for name in names if row[name] != ""} for row in rows]
    return [{**row, "features": each} for row, each in zip(own, features, strict=True)]


def _number(text: str) -> Value:
    """The number a cell holds; anything else, "nan", "inf" and what is too large among it, is a word."""
    try:
        number = float(text)
    except ValueError:
        return text
    return number if abs(number) <= LARGEST else text


class _Grouping:
    """Rows to groups, remembering which names were of use."""

    def __init__(self, text: str | None, images: Mapping[str, str]) -> None:
        self.text, self.images, self.found = text, images, Contents()
        self.seen: set[str] = set()
        self.used: set[str | None] = set()

    def run(self, rows: Sequence[FileRow]) -> Contents:
        groups: dict[str, Group] = {}
        for number, row in enumerate(rows, 1):
            context, listed, suffixes = self._parts(row)
            key = repr(context) if listed is None else str(number)
            for place, one in enumerate([row] if listed is None else listed):
                fallback = str(number) if listed is None else f"{number}-{suffixes[place] if suffixes else place + 1}"
                item = self._item(one, fallback, number)
                if item is not None:
                    groups.setdefault(key, Group([], context)).items.append(item)
        if not groups:
            empty = self.found.empty
            raise invalid(f"the file has no items{f': none of its {empty} rows has a text' if empty else ''}")
        self.found.groups = [_checked(group) for group in groups.values()]
        self.found.large = _outweighing(item for group in self.found.groups for item in group.items)
        self.found.unused = [name for name in dict.fromkeys(n for row in rows for n in row) if name not in self.used]
        return self.found

    def _parts(self, row: FileRow) -> tuple[Any, list[Any] | None, tuple[str, ...]]:
        """(context, the items of a group, what their ids end in)."""
        roles = roles_of(row, self.text)
        prompt = roles.prompt(row)
        context = None if prompt is None else row[prompt]
        self.used |= {prompt, *roles.lists}
        if roles.pair and not roles.listed(row):
            self.used |= {*roles.pair}
            return *_answers(context, [row[name] for name in roles.pair]), PAIR
        listed = roles.listed(row)
        return context, listed if listed is None or isinstance(listed, list) else [listed], ()

    def _item(self, given: Any, fallback: str, number: int) -> Item | None:
        """The item of a row, or None where its text is empty; such are counted."""
        fields = {"text": given} if isinstance(given, str) else dict(given) if isinstance(given, dict) else {}
        roles = roles_of(fields, self.text if isinstance(given, dict) else None)
        kept = {key: fields[key] for key in ("features", "vector") if fields.get(key) is not None}
        if roles.text is not None and fields[roles.text] is not None:
            kept["text"] = fields[roles.text]
            self.found.text = self.found.text or roles.text
        shown, names = shown_in(fields, self.images, number)
        self.used |= {roles.id, roles.text, *kept, *names}
        if isinstance(body := kept.get("text"), str) and not body.strip():
            del kept["text"]
            if not kept and "image" not in shown:
                self.found.empty += 1
                return None
        name = str((fields[roles.id] if roles.id else None) or fallback)
        if not kept and not {"image", "label"} & {*shown}:
            raise invalid(f"item {number} needs text, features, vector or image, got {sorted(fields)}")
        # With nothing else to learn from, an item is what it is called.
        kept = {**(kept or {"features": {"id": name}}), **shown}
        if name in ANSWER_WORDS or name in self.seen:
            raise invalid(f"item {number}: the id {name!r} is {'reserved' if name in ANSWER_WORDS else 'there twice'}")
        self.seen.add(name)
        try:
            return msgspec.convert({"id": name, **kept}, NewItem)
        except msgspec.ValidationError as error:
            raise invalid(f"item {number}: {error}") from None


def _outweighing(items: Iterable[Item]) -> list[str]:
    """The features whose numbers are so large that whatever stands beside them, words and texts too, hardly counts."""
    largest: dict[str, float] = {}
    beside = False
    for item in items:
        beside = beside or item.text is not None or item.vector is not None
        for name, value in (item.features or {}).items():
            number = abs(value) if isinstance(value, int | float) else 1.0
            largest[name] = max(largest.get(name, 0.0), number)
    return [name for name, number in largest.items() if number > _LARGE] if beside or len(largest) > 1 else []


def _answers(context: Any, both: list[Any]) -> tuple[Any, list[Any]]:
    """A chosen and a rejected answer: texts, or conversations, of which the last message is the answer."""
    if not all(isinstance(one, list) and one and all(isinstance(m, dict) for m in one) for one in both):
        return context, both
    earlier = [str(message.get("content", "")) for message in both[0][:-1]]
    return context or "\n\n".join(earlier) or None, [one[-1].get("content") for one in both]


def _checked(group: Group) -> Group:
    if len(group.items) < 2:
        raise RefusalError(Kind.INVALID, "invalid", f"{group.items[0].id!r} stands alone: a question needs two items")
    try:
        group.context = msgspec.convert(group.context, NewContext)
    except msgspec.ValidationError as error:
        raise invalid(f"the context of {group.items[0].id!r}: {error}") from None
    return group
