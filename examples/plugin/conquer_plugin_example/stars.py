"""A reader of `*.stars` files: a row of asterisks, a space, the text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read(path: Path) -> Iterator[dict[str, Any]]:
    """A row for each review: its text and its stars."""
    for line in path.read_text(encoding="utf-8").splitlines():
        stars, _, text = line.partition(" ")
        yield {"text": text, "stars": len(stars)}
