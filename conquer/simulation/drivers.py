"""The two drivers of a simulation: one compiled loop, and the same in Python, call by call."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from conquer.checks import checked_answer
from conquer.judges import LawJudge
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.loop import CHOSEN, Log, World
from conquer.learners.conquer import Conquer
from conquer.rows import Rounds
from conquer.types import Choice, Judge, Learner, Query

_MOMENT = 0.05
"""Seconds: a stretch of rounds that takes less may be followed by a longer one."""


def rates(law: Judge) -> bool:
    """Whether a judge compares ratings of people, not rewards."""
    return isinstance(law, LawJudge) and law.law == "raters"


def run_compiled(
    learner: Conquer, rounds: Rounds, world: World, log: Log, progress: Callable[[int], None] | None
) -> None:
    """Fill the log by the compiled loop, a stretch of rounds at a time."""
    model, X, total = learner.model, rounds.X, len(rounds)
    if total == 0:
        return
    with model.held():
        model.reserve(rounds[int(rounds.sizes.argmax())].items)
    # A few rounds at first: whatever the tier, the next call may find the loop compiled. Then as many as take a moment.
    chunk, most = 4, max(1, total // 200) if progress else total
    limit = min(chunk, most)
    while log.cursor.min() < total:
        began = time.perf_counter()
        with model.held():
            status = model.calls.run(
                X.indptr,
                X.indices,
                X.data,
                X.rows,
                *model.state,
                learner.plan,
                learner.knobs,
                model.work,
                world,
                log,
                limit,
            )
            if status == st.FULL:
                model.make_room(rounds[int(log.cursor.min())].items)
        if status not in (st.OK, st.FULL):
            model.fail(status, X)
        if status == st.OK:
            chunk = min(most, 8 * chunk if time.perf_counter() - began < _MOMENT else chunk)
            limit = min(total, limit + chunk)
            if progress:
                progress(int(log.cursor[CHOSEN]))


def run_plainly(
    learner: Learner,
    rounds: Rounds,
    laws: Sequence[Judge],
    tickets: tuple[Any, Any],
    log: Log,
    pace: tuple[int, int],
    progress: Callable[[int], None] | None,
) -> None:
    """The same, call by call: rules and judges written in Python, and the definition of the compiled loop."""
    total, (delay, batch), (own, judges) = len(rounds), pace, tickets
    choices: list[Choice] = []
    learned = 0
    for t in range(total):
        here = rounds[t]
        choice = learner.choose(here.items, int(own[t]))
        log.query[t], log.picks[t, : len(choice.shown)] = choice.query, choice.shown
        log.reals[t, 0] = np.nan if choice.memo["chance"] is None else choice.memo["chance"]
        values = here.ratings if rates(laws[t]) and choice.query == Query.DUEL else here.rewards
        assert values is not None
        answer = laws[t](choice, values, int(judges[t]))
        if choice.query != Query.NONE:
            log.reals[t, 1] = np.nan if answer is None else checked_answer(answer)
        choices.append(choice)
        due = t + 1 - delay if (t + 1) % batch == 0 else 0
        for late in range(learned, total if t + 1 == total else due):
            if choices[late].query != Query.NONE and not np.isnan(log.reals[late, 1]):
                learner.learn(rounds[late].items, choices[late], float(log.reals[late, 1]))
            learned = late + 1
        if progress:
            progress(t + 1)
