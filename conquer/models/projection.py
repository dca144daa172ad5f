"""The names of the two ways to keep every item's score within [-1, 1]; the arithmetic is K-dimensional and compiled."""

from conquer.kernels.rounds import settings as st

CODES = {None: st.NO_PROJECTION, "sequential": st.SEQUENTIAL, "exact": st.EXACT}
"""`sequential`, the paper's: slab after slab until all hold. `exact`: Hildreth's method, the true nearest point."""
