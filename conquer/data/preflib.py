"""Orders of preference in PrefLib's files, and synthetic preference matrices of known kinds."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from conquer.types import Floats

_COUNT = re.compile(r"#\s*NUMBER ALTERNATIVES\s*:\s*(\d+)\s*$", re.IGNORECASE)
_NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d+)\s*:\s*(.*)$", re.IGNORECASE)
_ROW = re.compile(r"^\s*(\d+)\s*:\s*(.+)$")
_PART = re.compile(r"\{[^{}]*\}|[^,{}\s]+")
LARGEST = 10_000


class OrderError(ValueError):
    """A line of a PrefLib file that cannot be read."""


def stream_orders(lines: Iterable[str]) -> Iterator[tuple[int, list[str], int, list[list[int]]]]:
    """(line, names, people, groups) of each order of a PrefLib file (soc, soi, toc, toi), one at a time.

    `people` gave this order; its groups of equals come best first, alternatives are numbered from 0. A line that fits
    nothing raises an OrderError with its number.

    >>> list(stream_orders(["# NUMBER ALTERNATIVES: 2", "3: 2,1"]))
    [(2, ['1', '2'], 3, [[1], [0]])]
    """
    known: dict[int, str] = {}
    names: list[str] = []
    count = 0
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if line.lstrip().startswith("#"):
            if found := _COUNT.match(line.strip()):
                count = int(found[1])
                if not 2 <= count <= LARGEST:
                    raise OrderError(f"line {line_number}: alternatives must be in [2, {LARGEST}], got {count}")
            elif found := _NAME.match(line.strip()):
                known[int(found[1])] = found[2].strip()
            names = []
            continue
        if count == 0:
            raise OrderError(f"line {line_number}: '# NUMBER ALTERNATIVES' must come before the orders")
        if not names:
            names = [known.get(k + 1, str(k + 1)) for k in range(count)]
            if len({*names}) < count:
                raise OrderError(f"line {line_number}: two alternatives have the same name; rename one of them")
        yield line_number, names, *_order(line, line_number, count)


def _order(line: str, line_number: int, count: int) -> tuple[int, list[list[int]]]:
    row = _ROW.match(line)
    if row is None:
        raise OrderError(f"line {line_number}: expected 'count: 1,2,{{3,4}}', got {line.strip()[:60]!r}")
    groups = []
    for part in _PART.findall(row[2]):
        members = [piece.strip() for piece in part.strip("{}").split(",") if piece.strip()]
        if not all(piece.isdigit() and 1 <= int(piece) <= count for piece in members):
            raise OrderError(f"line {line_number}: alternatives must be in [1, {count}], got {part!r}")
        groups.append([int(piece) - 1 for piece in members])
    flat = [k for group in groups for k in group]
    if len(set(flat)) != len(flat):
        raise OrderError(f"line {line_number}: an alternative is ranked twice")
    return int(row[1]), groups


def made_up_matrix(kind: str, count: int, rng: np.random.Generator) -> Floats:
    """(K, K) preferences: "bradley-terry", "condorcet" (random with a winner), "copeland" (without), "cyclic".

    >>> P = made_up_matrix("cyclic", 5, np.random.default_rng(0))
    >>> bool(np.allclose(P + P.T, 1)), condorcet_winner(P)
    (True, None)
    """
    upper = np.triu_indices(count, 1)
    P = np.full((count, count), 0.5)
    if kind == "bradley-terry":
        worth = rng.normal(size=count)
        P = 1.0 / (1.0 + np.exp(worth[None, :] - worth[:, None]))
    elif kind == "cyclic":
        ahead = (np.arange(count)[None, :] - np.arange(count)[:, None]) % count
        P = np.where(ahead == 0, 0.5, np.where(ahead <= (count - 1) // 2, 0.7, 0.3))
        if count % 2 == 0:
            P[ahead == count // 2] = 0.5
    elif kind in ("condorcet", "copeland"):
        P[upper] = rng.uniform(0.2, 0.8, upper[0].size)
        P.T[upper] = 1.0 - P[upper]
        winner = int(rng.integers(count))
        P[winner], P[:, winner] = 0.65, 0.35
        P[winner, winner] = 0.5
        if kind == "copeland":
            loses = int((winner + 1 + rng.integers(count - 1)) % count)
            P[winner, loses], P[loses, winner] = 0.35, 0.65
            rest = [k for k in range(count) if k not in (winner, loses)]
            for k in rest[: max(len(rest) // 2, 1)]:  # the arm that beats the winner loses to half of the others
                P[loses, k], P[k, loses] = 0.35, 0.65
    else:
        raise ValueError(f"kind must be bradley-terry, condorcet, copeland or cyclic, got {kind!r}")
    return P


def condorcet_winner(P: Floats) -> int | None:
    """The arm that beats all others, or None."""
    beats = (np.asarray(P) > 0.5).sum(axis=1)
    return int(beats.argmax()) if beats.max() == len(P) - 1 else None


def copeland_scores(P: Floats) -> Floats:
    """(K,): the share of the others that each arm beats."""
    return np.asarray((np.asarray(P) > 0.5).sum(axis=1) / (len(P) - 1))
