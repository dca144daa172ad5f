"""A board as text of 80 columns, and as HTML: an interval is a bar beside its score."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from conquer.boards.board import Board

_ITEM, _BAR = 22, 31
_MOST = 60
"""Rows of a text or table: more would not be read."""


def drawn(board: "Board", most: int = _MOST) -> str:
    """The board in at most 80 columns: rank, item, score, interval, how many it surely beats; * may be best.

    >>> from conquer.boards import board_of
    >>> V = 0.001 * (1 - np.eye(3))
    >>> print(board_of([0, 1, 0.1], V, 0 * V, lam=1.0, U=1.0, spread=0.0, answers=9, names=["a", "b", "c"]))
       #  item                      score  score less the mean              beats
       1* b                         1.000             .              |-o-|      2
       2  c                         0.100     |o-|    .                         0
       3  a                         0.000  |-o-|      .                         0
    3 items, 9 answers, 95 % "anytime": 1 may be best (*), 2 of 3 pairs told apart
    """
    beats, maybe = board.better.sum(axis=1), set(board.best.tolist())
    low, high = _range(board)
    lines = [f"   #  {'item':{_ITEM}} {'score':>8}  {'score less the mean':{_BAR}}  beats"]
    for rank, k in enumerate(board.order[:most].tolist(), 1):
        name, mark = _short(board.name(k)), "*" if k in maybe else " "
        bar = _bar(board.low[k], board.scores[k] - board.scores.mean(), board.high[k], low, high)
        lines.append(f"{rank:4}{mark} {name:{_ITEM}} {board.scores[k]:8.3f}  {bar}  {beats[k]:5}")
    if len(board) > most:
        lines.append(f"      and {len(board) - most:,} more")
    return "\n".join([*lines, summary(board)])


def summary(board: "Board") -> str:
    """One line: how many items and answers, which interval, who may be best, how many pairs are told apart."""
    count = len(board)
    level = f"{100 * (1 - board.delta):g} %"
    return (
        f'{count:,} items, {board.answers:,} answers, {level} "{board.interval}": {board.best.size:,} may be best (*), '
        f"{int(board.better.sum()):,} of {count * (count - 1) // 2:,} pairs told apart"
    )


def _range(board: "Board") -> tuple[float, float]:
    """The ends of the axis: all that is finite."""
    centred = board.scores - board.scores.mean()
    ends = np.concatenate([board.low, board.high, centred])
    ends = ends[np.isfinite(ends)]
    low, high = float(ends.min()), float(ends.max())
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _bar(start: float, middle: float, end: float, low: float, high: float) -> str:
    """The interval on an axis of `_BAR` characters; a dot is the board's mean, an arrow goes on for ever."""

    def place(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (_BAR - 1))

    cells = [" "] * _BAR
    cells[place(0.0)] = "."
    first, last = place(start), place(end)
    cells[first : last + 1] = "-" * (last + 1 - first)
    cells[first], cells[last] = "|" if start >= low else "<", "|" if end <= high else ">"
    cells[place(middle)] = "o"
    return "".join(cells)


def printable(name: str) -> str:
    """A name on one line; what would move a terminal's cursor or change its colours is a blank.

    >>> printable("green\\n\\x1b[31mtea")
    'green  [31mtea'
    """
    return "".join(letter if letter.isprintable() else " " for letter in name)


def _short(name: str) -> str:
    """A name of at most `_ITEM` characters: of a long one both ends, which tell names of one family apart.

    >>> _short("Code Llama Instruct (34B)")
    'Code Llama ...ct (34B)'
    """
    plain, end = printable(name), 8
    return plain if len(plain) <= _ITEM else plain[: _ITEM - 3 - end] + "..." + plain[-end:]


def as_html(board: "Board") -> str:
    """The board as a table for notebooks."""
    beats, maybe = board.better.sum(axis=1), set(board.best.tolist())
    low, high = _range(board)
    rows = []
    for rank, k in enumerate(board.order[:_MOST].tolist(), 1):
        bar = _bar(board.low[k], board.scores[k] - board.scores.mean(), board.high[k], low, high)
        cells = [f"{rank}{'*' if k in maybe else ''}", escape(board.name(k)), f"{board.scores[k]:.3f}"]
        cells += [f"<code style='white-space:pre'>{escape(bar)}</code>", f"{beats[k]}"]
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    head = "".join(f"<th>{name}</th>" for name in ("#", "item", "score", "score less the mean", "beats"))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table><p>{escape(summary(board))}</p>"
