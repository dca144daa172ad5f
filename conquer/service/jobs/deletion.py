"""What deleted models leave behind is taken from the disk beside the engine, so that nobody waits for it."""

import functools

from conquer.service.engine.engine import Engine
from conquer.service.store.erasure import delete_slice, orphan


def sweep_deleted(engine: Engine) -> int:
    """Delete every row of models that are gone, a slice at a time; returns how many slices that took.

    It looks at the rows themselves: what a crash has left is found by the next run.
    """
    slices = 0
    while True:
        with engine.database.reading() as connection:
            found = orphan(connection)
        if found is None:
            break
        one_slice = functools.partial(delete_slice, table=found[0], model=found[1])
        while engine.call_now(None, one_slice):
            slices += 1
        slices += 1
    if slices:
        engine.database.scrub()
    return slices
