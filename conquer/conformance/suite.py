"""All checks, and one algorithm through all of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conquer.conformance import choosing, keeping
from conquer.learners.algorithm import Algorithm
from conquer.registry import find

Check = Callable[[Algorithm, str], None]
CHECKS: tuple[Check, ...] = (
    keeping.the_row_is_true,
    choosing.choose_is_pure,
    choosing.choices_make_sense,
    choosing.little_is_enough,
    choosing.forms_are_equal,
    choosing.drivers_agree,
    keeping.a_file_goes_on,
    keeping.copies_go_their_own_way,
    keeping.bad_input_changes_nothing,
    keeping.refusals_leave_no_trace,
)
"""Each takes a row of the table and the name of a model, and raises where a promise is broken."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of one algorithm with one model; `problem` is empty where the promise is kept."""

    model: str
    promise: str
    problem: str


def check_algorithm(name: str) -> Iterator[Finding]:
    """Every check with every model of the algorithm of this name.

    >>> next(check_algorithm("random")).problem
    ''
    """
    row = find(name)
    for model in row.models:
        for check in CHECKS:
            yield Finding(model, check.__name__.replace("_", " "), _problem(check, row, model))


def _problem(check: Check, row: Algorithm, model: str) -> str:
    try:
        check(row, model)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
