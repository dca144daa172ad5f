"""Fits as tests need them: with what was found in the votes, and with files cut into small parts."""

from unittest.mock import patch

import conquer
from conquer.data.votes import VoteTally


def tally_of(votes, *items, **options):
    """What `fit` finds in votes."""
    tally = VoteTally()
    conquer.fit(votes, *items, tally=tally, **options)
    return tally


def fit_in_parts(size, votes, *items, **options):
    """`fit` of files that are cut into parts of about `size` bytes."""
    with patch("conquer.fitting.warm_start.PART_BYTES", size):
        return conquer.fit(votes, *items, **options)
