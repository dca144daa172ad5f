"""Hypothesis strategies for rounds of items."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

values = st.floats(-4, 4, allow_subnormal=False).map(lambda x: round(x, 3))


@st.composite
def matrices(draw, rows=(2, 6), dim=(1, 8)):
    """A dense (K, D) array with some exact zeros and, now and then, equal rows."""
    shape = draw(st.integers(*rows)), draw(st.integers(*dim))
    return draw(hnp.arrays(np.float64, shape, elements=values))


@st.composite
def histories(draw, dim=(1, 6), rounds=(1, 25)):
    """A list of (X, first, second, answer): what a model has been taught."""
    d = draw(st.integers(*dim))
    steps = []
    for _ in range(draw(st.integers(*rounds))):
        X = draw(matrices(dim=(d, d)))
        first = draw(st.integers(0, len(X) - 1))
        second = draw(st.integers(0, len(X) - 2))
        steps.append((X, first, second + (second >= first), draw(st.sampled_from([-1.0, 0.0, 1.0, 0.3]))))
    return d, steps
