"""A setting of a study that is also an option of its command."""

from dataclasses import field
from typing import Any


def option(default: Any, text: str) -> Any:
    """A dataclass field with this default and help text."""
    return field(default=default, metadata={"help": text})
