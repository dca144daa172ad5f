"""Orders of preference as votes: who ranked one thing above another has voted for it, once for each such pair."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from conquer.data.compression import lines
from conquer.data.preflib import OrderError, stream_orders
from conquer.data.votes.things import Things
from conquer.data.votes.vote import VoteBlock, VoteError

_PAIRS = 1 << 14


def order_blocks(path: Path, things: Things) -> Iterator[VoteBlock]:
    """The votes of a PrefLib file, some thousand at a time; equals are ties, what is not ranked says nothing."""
    first: list[str] = []
    second: list[str] = []
    rest: list[tuple[float, int, int]] = []
    checked: list[str] = []
    try:
        for line, names, people, groups in stream_orders(raw.decode("utf-8") for raw in lines(path)):
            if names is not checked:
                _check_different(names, path, line)
                checked = names
            ids = [[_named(things, names[k], path, line) for k in group] for group in groups]
            for place, group in enumerate(ids):
                for k, one in enumerate(group):
                    later = [(two, 0.0) for two in group[k + 1 :]]
                    later += [(two, 1.0) for below in ids[place + 1 :] for two in below]
                    for two, value in later:
                        first.append(one)
                        second.append(two)
                        rest.append((value, line, people))
                    if len(first) >= _PAIRS:
                        yield _block(first, second, rest)
                        first, second, rest = [], [], []
    except (OrderError, UnicodeDecodeError) as error:
        raise VoteError(f"{path}, {error}") from None
    if first:
        yield _block(first, second, rest)


def _check_different(names: list[str], path: Path, line: int) -> None:
    """Two alternatives of one name would be one thing that is compared with itself."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise VoteError(f"{path}, line {line}: two alternatives are both called {twice!r:.60}; give them other names")


def _named(things: Things, name: str, path: Path, line: int) -> str:
    known = things.ids.get(name)
    if known is not None:
        return known
    try:
        return str(things.read(name))
    except ValueError as error:
        raise VoteError(f"{path}, line {line}: {error}") from None


def _block(first: list[str], second: list[str], rest: list[tuple[float, int, int]]) -> VoteBlock:
    values, numbers, people = (np.array(column) for column in zip(*rest, strict=True))
    return VoteBlock(first, second, values, numbers.astype(np.int64), counts=people.astype(np.int64))
