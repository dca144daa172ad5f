"""Rows of JSON files: an object a line, the Python dictionaries of old, or one array of objects."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conquer.data.compression import ReviewFileError, UnreadableError, content, lines
from conquer.data.dialect import UTF8, decoded, start_of

Rows = Iterator[tuple[int, Any]]
_BETWEEN = re.compile(r"[\s,]*")


def json_lines(path: Path) -> Rows:
    """(line, row) of a file with an object a line."""
    _, encoding = start_of(path)
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            yield number, _object(line if encoding == UTF8 else decoded(line, encoding).encode())


def _object(line: bytes) -> Any:
    try:
        return _fields(json.loads(line))
    except (ValueError, RecursionError) as error:
        # The files of 2014 and before are lines of Python: single quotes, True and None.
        try:
            return _fields(ast.literal_eval(line.decode("utf-8").strip()))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return UnreadableError(f"neither JSON nor a Python dictionary ({error})")


def json_array(path: Path) -> Rows:
    """(line, row) of a file that is one array of objects; past a syntax error nothing can be told apart."""
    text = decoded(content(path), start_of(path)[1]).removeprefix("\ufeff")
    decoder = json.JSONDecoder(parse_int=_integer)
    at, line, counted = text.index("[") + 1, 1, 0
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        line, counted = line + text.count("\n", counted, at), at
        if text.startswith("]", at) and not text[at + 1 :].strip():
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise ReviewFileError(f"{path}, line {line}: the JSON array is broken here ({error})") from None
        yield line, _fields(value)


def _fields(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    return UnreadableError(f"expected an object with fields, got {type(value).__name__}")


def _integer(digits: str) -> int | float:
    """Python refuses integers of more than 4,300 digits; here one such number must not end the whole array."""
    return int(digits) if len(digits) < 400 else float(digits)
