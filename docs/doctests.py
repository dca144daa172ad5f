"""A griffe extension that fences doctests in docstrings: Markdown reads their prompts as quotations."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.MULTILINE)


def fenced(text: str) -> str:
    r"""Return the text with each doctest inside a code fence.

    >>> fenced("Adds.\n\n>>> 1 + 1\n2\n\nEnd.").count("```")
    2
    """
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", text)


class Doctests(griffe.Extension):
    """Fence the doctests of every docstring as it is read."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
