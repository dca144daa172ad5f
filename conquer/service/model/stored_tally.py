"""A tally from the text it was stored as, or that somebody sent: whatever is not one of ours is refused."""

import operator
from typing import Any

import msgspec

from conquer.service.model.tally import BINS, PAIRS, RATERS, RECENT, Tally

_LONGEST = 1000
_LARGEST = 1e18
_tally = msgspec.json.Decoder(Tally).decode


def read_tally(text: str, most: int = 1 << 62) -> Tally:
    """A tally from the JSON text beside a snapshot's weights; a ValueError where it cannot be one of ours.

    `most`: the largest count, so that what comes from anyone has room to go on.
    """
    tally = _tally(text)
    counts, sizes = tally.rounds, (len(tally.pairs), len(tally.voters), len(tally.people), len(tally.recent))
    if tally.width < 1 or tally.width & (tally.width - 1) or tally.width > most:
        raise ValueError(f"the width of a curve is a power of two, got {tally.width}")
    if counts > tally.width * BINS or len(tally.curve) > max(1, -(-counts // tally.width)):
        raise ValueError(f"{len(tally.curve)} bins of {tally.width} do not hold {counts} rounds")
    if any(map(operator.gt, sizes, (PAIRS, RATERS, RATERS, RECENT))) or len(tally.history) > 2 * BINS:
        raise ValueError(f"a tally has at most {PAIRS} pairs and {RATERS} voters, got {sizes[:2]}")
    _check(msgspec.to_builtins(tally), most)
    return tally


def _check(value: Any, most: int) -> None:
    """A ValueError for a count below 0 or too large, a sum that could overflow, or a text that is no name."""
    if isinstance(value, dict):
        _check(list(value), most)
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            _check(one, most)
    elif isinstance(value, str):
        if len(value) > _LONGEST:
            raise ValueError(f"a name has at most {_LONGEST} characters, got {len(value)}")
    elif isinstance(value, int):
        if not 0 <= value <= most:
            raise ValueError(f"a count is a whole number in [0, {most}], got {value}")
    elif isinstance(value, float) and not abs(value) <= _LARGEST:
        raise ValueError(f"a sum is at most {_LARGEST:g}, got {value}")
