"""Orders of preference in PrefLib's files."""

import re
from collections.abc import Iterable, Iterator

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
