"""Files of items: the rows of a table or of JSON become groups of items, which questions are drawn from."""

import re
from collections.abc import Generator, Mapping
from types import MappingProxyType
from typing import Any, get_args

import msgspec

from conquer.data.columns import ID, PROMPT, TEXT, by_plain_name, column, plain
from conquer.data.compression import is_compressed
from conquer.data.items import number_or_text, part_columns, part_of_cell
from conquer.data.tables import Chunk, chunks, sniff
from conquer.items import SHOWN
from conquer.service.errors import RefusalError, invalid
from conquer.service.model.schemas import ANSWER_WORDS, IMAGE, LARGEST, Context, Format, Group, Item, in_words
from conquer.service.work.exports import text_of

_LISTS, _PAIR = ("items", "responses"), ("chosen", "rejected")
_META = "meta."
"""Columns whose names begin with this are entries of an item's meta."""
_LARGE = 10
"""A word counts as 1, and rows have length 1: the largest number determines the row."""
_SENTENCE = 10
"""A cell of this many words is no category."""
_FORMATS = get_args(Format)
_LIST, _LONGEST, _WHOLE = 64, 2000, 1 << 53
_is_image = re.compile(IMAGE).match


class Uploaded(msgspec.Struct, omit_defaults=True):
    """What was added, and how the file's columns were read.

    - `text`: the column of the texts.
    - `features`: the columns that are features, in a table without texts, vectors or features.
    - `shown`: columns that are displayed and not learnt.
    - `unused`: columns that are not read.
    - `empty`: rows left out because their text is empty.
    - `large`: features whose numbers outweigh all other features.
    """

    items: int = 0
    groups: int = 0
    text: str = "text"
    features: list[str] = []
    unused: list[str] = []
    empty: int = 0
    shown: list[str] = []
    large: list[str] = []

    def described(self) -> str:
        """The columns in words.

        >>> Uploaded(text="Review", unused=["Date"], empty=2).described()
        "text from 'Review'; not used: Date; 2 rows without a text left out"
        """
        said = [f"text from {self.text!r}"] if self.text != "text" else []
        said += [f"no text column; taken as features: {', '.join(self.features)}"] if self.features else []
        said += [f"shown and not learnt: {', '.join(self.shown)}"] if self.shown else []
        said += [f"not used: {', '.join(self.unused)}"] if self.unused else []
        said += [f"large numbers, to be divided: {', '.join(self.large)}"] if self.large else []
        return "; ".join([*said, *([f"{self.empty} rows without a text left out"] if self.empty else [])])


FileReading = Generator[None, None, tuple[list[Group], Uploaded]]
"""The groups of a file and what it was read as, in slices."""


def read_items(data: bytes, text: str | None = None, images: Mapping[str, str] = MappingProxyType({})) -> FileReading:
    """The groups of a file, in slices; items without a prompt are one group.

    A row is an item, `{"id", "text"}` with an optional `prompt`; a group, `{"prompt", "items": [...]}` or `{"prompt",
    "responses": ["...", "..."]}`; or a pair, `{"prompt", "chosen", "rejected"}`. Columns are found by their usual names
    (`conquer.data.columns`); `text` names the column of the texts. In a table without texts, vectors or features, all
    other columns are features, unless one holds sentences. `images`: uploaded images by file name.

    >>> steps = read_items(b"id,Review\\na,good tea\\nb,bad tea\\n")
    >>> next(steps)
    >>> try: next(steps)
    ... except StopIteration as end: [item.text for item in end.value[0][0].items]
    ['good tea', 'bad tea']
    """
    reading = _Reading(text, images)
    try:
        if is_compressed(data) or (part := sniff(data)).form not in ("table", "jsonl", "json", "ledger"):
            raise invalid("the file must be a table, JSON lines or a JSON array, and not compressed")
        for chunk in chunks(part):
            if chunk.bad:
                place = min(chunk.bad)
                raise invalid(f"{part.at(chunk.lines[place])}: {chunk.bad[place]}")
            reading.add(chunk, part.form == "table", part.delimiter == ";")
            yield
        return reading.finished()
    except RecursionError:
        raise invalid("the file is nested too deeply") from None
    except ValueError as error:
        raise error if isinstance(error, RefusalError) else invalid(str(error)) from None


class _Reading:
    """Collects items in groups, and the columns that were read."""

    def __init__(self, text: str | None, images: Mapping[str, str]) -> None:
        self.text, self.images, self.found = text, images, Uploaded()
        self.groups: dict[str, Group] = {}
        self.names: dict[str, None] = {}
        self.used: set[str | None] = set()
        self.ids: set[str] = set()
        self.rows = 0

    def add(self, chunk: Chunk, table: bool, decimal_comma: bool) -> None:
        names = chunk.names
        if self.text is not None and not self.names and column(names, TEXT, self.text) is None:
            raise invalid(f"there is no column {self.text!r} among {', '.join(names):.500}")
        self.names |= dict.fromkeys(names)
        if table and not part_columns(names, self.text) and not {*_PAIR} <= by_plain_name(names).keys():
            self.found.features = [one for one in names if plain(one) not in (*ID, *PROMPT) and not _is_shown(one)]
        for _, row in chunk.rows():
            if isinstance(row, dict):
                if table:
                    row = {name: None if cell == "" else cell for name, cell in row.items()}
                if self.found.features:
                    row["features"] = self._features(row, decimal_comma)
                self._row(row)

    def _features(self, row: Mapping[str, Any], decimal_comma: bool) -> dict[str, Any]:
        cells = {name: row[name] for name in self.found.features if row[name] is not None}
        for name, cell in cells.items():
            if len(cell.split()) >= _SENTENCE:
                raise invalid(
                    f"the column {name!r} holds sentences, but only {', '.join(TEXT)} are read as texts: rename it, or "
                    f"name it (text={name} in the address, --text {name} for conquer serve)"
                )
            value = number_or_text(cell, decimal_comma)
            # "nan", "inf" and numbers that are too large are words.
            cells[name] = value if isinstance(value, str) or abs(value) <= LARGEST else cell
        return cells

    def _row(self, row: Mapping[str, Any]) -> None:
        self.rows += 1
        named = {one: name for one, name in by_plain_name(row).items() if row[name] is not None}
        prompt = next((named[one] for one in PROMPT if one in named), None)
        lists = [named[one] for one in _LISTS if one in named and row[named[one]]][:1]
        context = None if prompt is None else row[prompt]
        number = str(self.rows)
        entries, key = {number: row}, repr(context)
        if lists:
            given = row[lists[0]]
            several = enumerate(given if isinstance(given, list) else [given], 1)
            entries, key = {f"{number}-{place}": one for place, one in several}, number
        elif {*_PAIR} <= named.keys():
            lists = [named[one] for one in _PAIR]
            context, both = _answers(context, [row[name] for name in lists])
            entries, key = {f"{number}-{one}": answer for one, answer in zip(_PAIR, both, strict=True)}, number
        self.used |= {prompt, *lists}
        for fallback, given in entries.items():
            item = self._item(given, fallback)
            if item is not None:
                self.groups.setdefault(key, Group([], context)).items.append(item)

    def _item(self, given: Any, fallback: str) -> Item | None:
        """The item of a row, or None where its text is empty."""
        fields = {"text": given} if isinstance(given, str) else given if isinstance(given, dict) else {}
        parts = part_columns(fields, None if isinstance(given, str) else self.text)
        kept: dict[str, Any] = {part: part_of_cell(part, fields[name]) for part, name in parts.items()}
        kept = {part: value for part, value in kept.items() if value is not None}
        shown = self._shown(fields)
        identity = column(fields, ID)
        self.used |= {identity, *parts.values()}
        if not kept and "image" not in shown and "text" in parts:
            self.found.empty += 1
            return None
        name = str((fields[identity] if identity else None) or fallback)
        if not kept and not {"image", "label"} & {*shown}:
            raise invalid(f"item {self.rows} needs text, features, vector or image, got {sorted(fields)!r:.500}")
        if name in ANSWER_WORDS or name in self.ids:
            why = "is a reserved word" if name in ANSWER_WORDS else "occurs twice"
            raise invalid(f"item {self.rows}: the id {name!r:.250} {why}")
        if "text" in kept and parts["text"] != "text":
            self.found.text = parts["text"]
        self.ids.add(name)
        # Without any content an item is its id.
        kept = kept or {"features": {"id": name}}
        try:
            return msgspec.convert({"id": name, **kept, **shown}, Item)
        except msgspec.ValidationError as error:
            raise invalid(f"item {self.rows}: {in_words(str(error))}") from None

    def _shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """What a row only displays."""
        found: dict[str, Any] = {}
        meta: dict[str, Any] = {}
        for name, value in row.items():
            key = plain(name)
            # A column named format may hold something else, such as hardcover.
            if value is None or not _is_shown(name) or (key == "format" and value not in _FORMATS):
                continue
            self.used.add(name)
            if name.lower().startswith(_META):
                meta[name[len(_META) :]] = value
            elif key == "meta":
                entries = part_of_cell("features", value)
                meta |= entries if isinstance(entries, dict) else {"meta": value}
            else:
                found[key] = self._image(value) if key == "image" else text_of(value)
        return found | {"meta": {str(one): _flat(value) for one, value in meta.items()}} if meta else found

    def _image(self, value: Any) -> Any:
        if isinstance(value, str) and not _is_image(value) and value not in self.images:
            raise invalid(
                f"item {self.rows}: the image {value[:80]!r} is neither a path on this server nor one of the "
                f"{len(self.images)} images uploaded to this model: upload it, or rename the column"
            )
        return self.images.get(value, value) if isinstance(value, str) else value

    def finished(self) -> tuple[list[Group], Uploaded]:
        found, groups = self.found, list(self.groups.values())
        if not groups:
            raise invalid(f"the file has no items{f': all its {found.empty} texts are empty' if found.empty else ''}")
        for group in groups:
            _check(group)
        items = [item for group in groups for item in group.items]
        found.items, found.groups = len(items), len(groups)
        found.unused = [name for name in self.names if name not in self.used and name not in found.features]
        found.shown = [name for name in self.names if _is_shown(name) and name in self.used]
        named = {name for item in items for name in item.features or ()}
        if len(named) > 1 or any(item.text or item.vector for item in items):
            cells = (cell for item in items for cell in (item.features or {}).items())
            large = (name for name, value in cells if not isinstance(value, str) and abs(value) > _LARGE)
            found.large = list(dict.fromkeys(large))
        return groups, found


def _is_shown(name: str) -> bool:
    """Whether a column is only displayed.

    >>> [_is_shown(name) for name in ("Label", "meta.author", "price")]
    [True, True, False]
    """
    return plain(name) in SHOWN or name.lower().startswith(_META)


def _flat(value: Any) -> Any:
    """An entry of meta: nested values and numbers without bound become text, and long texts are cut."""
    words = isinstance(value, list) and len(value) <= _LIST and all(isinstance(one, str) for one in value)
    if words or value is None or (isinstance(value, bool | int | float) and abs(value) <= _WHOLE):
        return value
    return (text_of(value) or "")[:_LONGEST]


def _answers(context: Any, both: list[Any]) -> tuple[Any, list[Any]]:
    """A chosen and a rejected answer: texts, or conversations whose last message is the answer."""
    if not all(isinstance(one, list) and one and all(isinstance(m, dict) for m in one) for one in both):
        return context, both
    earlier = [str(message.get("content", "")) for message in both[0][:-1]]
    return context or "\n\n".join(earlier) or None, [one[-1].get("content") for one in both]


def _check(group: Group) -> None:
    if len(group.items) < 2:
        prompt = f"prompt {group.context!r:.80} has only one answer"
        alone = "the file has only one item" if group.context is None else prompt
        raise invalid(f"{alone}, {group.items[0].id!r}; a question needs at least two")
    try:
        group.context = msgspec.convert(group.context, Context)
    except msgspec.ValidationError as error:
        raise invalid(f"the prompt of {group.items[0].id!r}: {error}") from None
