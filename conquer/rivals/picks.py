"""One number for "which of the k shown, or none": how answers to more than two items travel in [-1, 1]."""

import numpy as np

from conquer.types import Floats


def encode(position: int | None, count: int) -> float:
    """The answer that names the shown item at `position`, or none of them: +1 the first, -1 the last, even between.

    None lies halfway between the first two, where no item is; of two items that is 0, of one -1.

    >>> [encode(p, 3) for p in (0, 1, 2, None)], [encode(p, 2) for p in (0, 1, None)]
    ([1.0, 0.0, -1.0, 0.5], [1.0, -1.0, 0.0])
    """
    if position is not None and not 0 <= position < count:
        raise ValueError(f"position must be in [0, {count}), got {position}")
    if count == 1:
        return 1.0 if position == 0 else -1.0
    return 1.0 - 2.0 * (0.5 if position is None else position) / (count - 1)


def decode(answer: float, count: int) -> Floats:
    """(count + 1,): the share of the answer that names each shown item, the last entry being none of them.

    Of two items a strength y in [-1, 1] counts |y| for the preferred one and the rest for none.

    >>> decode(0.5, 3).tolist(), decode(-0.25, 2).tolist()
    ([0.0, 0.0, 0.0, 1.0], [0.0, 0.25, 0.75])
    """
    shares = np.zeros(count + 1)
    if count == 2:
        shares[0 if answer > 0 else 1] = abs(answer)
        shares[2] = 1.0 - abs(answer)
        return shares
    for position in (*range(count), None):
        if abs(answer - encode(position, count)) < 1e-9:
            shares[count if position is None else position] = 1.0
            return shares
    names = [round(encode(position, count), 6) for position in (*range(count), None)]
    raise ValueError(f"of {count} shown items the answer must be one of {names}, got {answer!r}")
