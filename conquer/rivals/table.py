"""The table of rivals: one row each, for the registry to add to its own."""

from conquer.rivals.arms.table import ARMS
from conquer.rivals.contextual.table import CONTEXTUAL
from conquer.rivals.several.table import SEVERAL
from conquer.rivals.single.table import SINGLE

ROWS = (*CONTEXTUAL, *SINGLE, *ARMS, *SEVERAL)
