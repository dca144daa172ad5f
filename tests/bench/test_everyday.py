"""The everyday paths are what they say, and both ways of a path learn the same."""

import numpy as np
import pytest

from conquer.bench import everyday
from conquer.features.featurizer import Featurizer
from conquer.registry import make
from conquer.session import Session


@pytest.mark.parametrize("name", everyday.PATHS)
def test_a_session_asks_about_the_rows_of_a_path(name):
    draw, dim = everyday.PATHS[name]
    items, context = draw(np.random.default_rng(0))
    session = Session(make(everyday.ALGORITHM, dim=dim))
    offer = session.ask(items, context)
    assert session.tell(offer.id, "first") == "learnt"
    (asked,) = [row["rows"] for row in session.ledger.rows() if row["kind"] == "ask"]
    unit = name in (list(everyday.PATHS)[-2:])  # a session takes vectors as they are
    expected = Featurizer(dim=dim, unit=not unit)(items, context)
    assert len(asked) == int(name.split()[0] if name[0].isdigit() else 5)
    assert (asked.indices == expected.indices).all()
    assert (asked.data == expected.data).all()
