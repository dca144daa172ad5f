"""What items and contexts say to people in exports: their texts where they have them, and what is only shown."""

from collections.abc import Sequence
from typing import Any

import msgspec

from conquer.items import SHOWN, has_parts
from conquer.service.model.schemas import Item

_items = msgspec.json.Decoder(list[Item]).decode
EXPORTED = tuple(name for name in SHOWN if name != "format")


def bytes_of(item: Item) -> int:
    """Bytes of an item in memory, roughly."""
    words = len(item.text or "") + len(item.label or "") + len(item.image or "")
    entries = [*(item.features or {}).items(), *(item.meta or {}).items()]
    return (
        500 + 2 * words + 32 * len(item.vector or ()) + sum(200 + 2 * len(name) + _long(one) for name, one in entries)
    )


def _long(value: Any) -> int:
    """Bytes of a feature's or meta's value beyond those of a number."""
    if isinstance(value, list):
        return sum(60 + 2 * len(word) for word in value)
    return 2 * len(value) if isinstance(value, str) else 0


def items_in(raw: Any) -> dict[str, Item]:
    """The items of a row, by id."""
    return {item.id: item for item in _items(bytes(raw))}


def content_of(item: Item) -> Any:
    """Its text, or else its features or its vector.

    >>> content_of(Item("a", text="good tea", vector=[0.5])), content_of(Item("b", vector=[0.5]))
    ('good tea', [0.5])
    """
    return item.text if item.text is not None else item.features or item.vector


def prompt_of(raw: Any) -> Any:
    """A context as it came, or its text where that stands beside a vector or features.

    >>> prompt_of(b'"a pot for two"'), prompt_of(b'{"text": "a pot for two", "vector": [0.5]}'), prompt_of(b"null")
    ('a pot for two', 'a pot for two', None)
    """
    context = msgspec.json.decode(bytes(raw))
    return context["text"] if has_parts(context) and isinstance(context.get("text"), str) else context


def text_of(content: Any) -> str | None:
    """A text as it is, None as None, anything else as JSON."""
    return content if content is None or isinstance(content, str) else msgspec.json.encode(content).decode()


def shown_of(item: Item | None) -> list[str | None]:
    """Its label, its meta as JSON and its image, as cells of a table."""
    return [text_of(getattr(item, name, None)) for name in EXPORTED]


def shown_with(items: dict[str, Item], names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """{role_label, role_meta, role_image} of the items with these (role, id), where any of them has it.

    >>> items = {"a": Item("a", text="x", label="A"), "b": Item("b", text="y")}
    >>> shown_with(items, [("chosen", "a"), ("rejected", "b")])
    {'chosen_label': 'A', 'rejected_label': None}
    """
    there = [name for name in EXPORTED if any(getattr(items[one], name) is not None for _, one in names)]
    return {f"{role}_{name}": getattr(items[one], name) for name in there for role, one in names}
