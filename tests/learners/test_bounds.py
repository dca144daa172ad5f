"""Where the bounds on eta hold, and where a learner refuses them."""

import pytest

from conquer.registry import make


def test_eta_bounds_are_refused_where_they_do_not_hold():
    with pytest.raises(ValueError, match="full and kernel"):
        make("gnc", dim=3, eta="tight")
    with pytest.raises(ValueError, match="projection"):
        make("gnc", dim=3, model="full", eta="theory")
    with pytest.raises(ValueError, match="duels"):
        make("confidit", dim=3, model="full", eta="tight")
    with pytest.raises(ValueError, match="pairs kept"):
        make("gnc", dim=3, model="kernel", eta="tight", budget=5)
    with pytest.raises(ValueError, match="'theory' or 'tight'"):
        make("gnc", dim=3, model="full", eta="large")
    for model in ("full", "kernel"):
        with pytest.raises(ValueError, match=r"Q = 0.5 holds only with projection"):
            make("gnc", dim=3, model=model, eta="tight", Q=0.5)
        for projection in ("sequential", "exact"):
            make("gnc", dim=3, model=model, eta="tight", Q=0.5, projection=projection)
            make("gnc", dim=3, model=model, eta="theory", Q=0.5, projection=projection)
