"""Whether a learner is being made from what is stored, or by someone who can still be told no."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

STORED = ContextVar("stored", default=False)


@contextmanager
def as_stored() -> Iterator[None]:
    """Learners made within may break a bound's conditions, as older versions let them: what is on disk is opened."""
    token = STORED.set(True)
    try:
        yield
    finally:
        STORED.reset(token)
