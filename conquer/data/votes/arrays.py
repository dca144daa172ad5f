"""One array of JSON objects, row by row: a file of any size needs the room of its longest row."""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conquer.data.compression import pieces
from conquer.data.votes.vote import VoteError

_BETWEEN = re.compile(r"[\s,]*")
_LONGEST = 64 << 20
"""Characters of one row."""


def array_rows(path: Path) -> Iterator[tuple[int, int, Any]]:
    """(line, characters, row) of a file that is one array; past a syntax error nothing can be told apart."""
    decoder = json.JSONDecoder()
    text, at, line = "", 0, 1
    begun = False
    texts = _decoded(path)
    more = True
    while True:
        between = _BETWEEN.match(text, at) if begun else re.compile(r"[\s\ufeff]*").match(text, at)
        end = between.end() if between else at
        line, at = line + text.count("\n", at, end), end
        if at < len(text) and not begun:
            at, begun = at + 1, True  # its opening bracket, which told what it is
            continue
        if at < len(text) and text[at] == "]":
            if text[at + 1 :].strip() or any(rest.strip() for rest in texts):
                raise VoteError(f"{path}, line {line}: something follows the end of the JSON array")
            return
        row, after = None, -1
        problem: Exception | None = None
        if at < len(text):
            try:
                row, after = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                problem = error
        # A number at the very end may go on in the next piece, everything else ends with its own mark.
        if after >= 0 and (after < len(text) or not more):
            yield line, after - at, row
            line, at = line + text.count("\n", at, after), after
            continue
        if not more:
            reason = problem or "it ends without a closing bracket"
            raise VoteError(f"{path}, line {line}: the JSON array is broken here ({reason!s:.100})")
        if len(text) - at > _LONGEST:
            raise VoteError(f"{path}, line {line}: a row longer than {_LONGEST} characters")
        # Twice as much each time, so that a long row is not looked at again for every small piece of it.
        text, at = text[at:], 0
        goal = 2 * len(text) + 1
        while more and len(text) < goal:
            piece = next(texts, None)
            more = piece is not None
            text += piece or ""


def _decoded(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    try:
        for piece in pieces(path):
            yield decoder.decode(piece)
            line += piece.count(b"\n")
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise VoteError(f"{path}, about line {line}: not UTF-8 ({error.reason})") from None
