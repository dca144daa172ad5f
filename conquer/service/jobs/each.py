"""A job that goes through the models: one that is broken does not keep it from the others."""

from collections.abc import Callable

from conquer.service.engine.engine import Engine
from conquer.service.errors import Kind, RefusalError
from conquer.service.store import log


def each_model(engine: Engine, job: str, work: Callable[[log.Header], int]) -> int:
    """Do it for every model; returns the sum. A failure raises the alarm `JOB:MODEL`, the next success clears it."""
    with engine.database.reading() as connection:
        headers = log.all_headers(connection)
    alarms, total = engine.alarms, 0
    names = {header.name for header in headers}
    for kind, _ in alarms.standing():
        word, _, name = kind.partition(":")
        if word == job and name not in names:
            alarms.clear(kind)
    for header in headers:
        kind = f"{job}:{header.name}"
        try:
            total += work(header)
        except Exception as error:
            refusal = error if isinstance(error, RefusalError) else None
            if refusal is not None and refusal.code == "stopping":
                raise
            # Deleted since they were listed.
            if refusal is None or refusal.kind is not Kind.UNKNOWN:
                alarms.count(job)
                alarms.raise_(kind, f"{job} failed for model {header.name!r}: {type(error).__name__}: {error}")
        else:
            alarms.clear(kind)
    return total
