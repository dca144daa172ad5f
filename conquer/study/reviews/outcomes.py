"""What one learner achieves over one course of rounds, and the best possible result beside it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conquer.kernels.reviews import dual_coefficients, primal_weights, row_scores
from conquer.kernels.rounds import settings as st
from conquer.learners.conquer import Conquer
from conquer.metrics import star_error
from conquer.models.diagonal import Diagonal
from conquer.policies import ALWAYS, GNC
from conquer.registry import bounded, find
from conquer.rows import SparseRows
from conquer.simulation import Trace, simulate
from conquer.study.reviews.rounds import Course, Part, rows_of, test_error
from conquer.study.reviews.spec import CONTROLS, Spec
from conquer.types import Floats, Ints, Learner, Query

_POINTS = 40
_CHUNK = 64
_TOLERANCE, _STEPS = 1e-4, 500


def learner_for(spec: Spec, algorithm: str, dim: int, point: dict[str, Any]) -> Learner:
    """A new learner with the specification's model and update, where the algorithm has the choice."""
    base, _ = CONTROLS.get(algorithm, (algorithm, ""))
    row = find(base)
    if algorithm == "gnc-always":
        row = bounded(algorithm, row.description, replace(GNC, gate=ALWAYS))
    model = spec.model if spec.model in row.models else row.models[0]
    takes_update = any(p.name == "update" and model in p.models for p in row.parameters)
    extra: dict[str, Any] = {"update": spec.update} if takes_update else {}
    if algorithm.endswith("-projected"):
        extra["projection"] = "sequential"
    return row.build(dim, model, **extra, **point)


def scores_of(learner: Learner, part: Part, units: Ints) -> Floats:
    """(rows of X,): scores of the rows of these units, 0 elsewhere."""
    rows = rows_of(part, units)
    scores = np.zeros(len(part.X))
    X = part.X
    if learner.compiled and learner.parameters["model"] != "kernel":
        scores[rows] = row_scores(X.indptr, X.indices, X.data, rows, learner.model.weights())
    else:
        for start in range(0, rows.size, _CHUNK):
            piece = rows[start : start + _CHUNK]
            scores[piece] = learner.scores(X.take(piece))
    return scores


def first_values(learner: Learner, part: Part, units: Ints, scores: Floats) -> Floats:
    """(rows of X,): what the rule maximises to choose its first item, the paper's m_t; 0 for rows of other units.

    These are the `scores`, or upper bounds for the rules whose first item is the largest bound. Exploration (that of
    Banditron) is left out.
    """
    if not isinstance(learner, Conquer) or learner.policy.first != st.UCB:
        return scores
    rows, X, values = rows_of(part, units), part.X, scores.copy()
    if isinstance(learner.model, Diagonal):
        variances = row_scores(X.indptr, X.indices, X.data * X.data, rows, 1.0 / learner.model.precision())
        values[rows] += np.sqrt(learner.eta * variances)
        return values
    for start in range(0, rows.size, _CHUNK):
        piece = rows[start : start + _CHUNK]
        values[piece] += np.sqrt(learner.eta * learner.model.variances(X.take(piece)))
    return values


def first_error(learner: Learner, part: Part, tests: Ints, *, last: bool = True) -> tuple[float, float]:
    """(error of the first item chosen, error of the top score) on the test sets.

    A model that projects has scores of its own in every set, so there the rule chooses set by set; before the `last`
    checkpoint, where that would take too long, its top score counts.
    """
    scores = scores_of(learner, part, part.evaluation)
    plain = test_error(part, tests, scores)
    if learner.parameters.get("projection") is None or not last:
        values = first_values(learner, part, part.evaluation, scores)
        return (plain if values is scores else test_error(part, tests, values)), plain
    stars = part.stars[tests]
    first = [learner.choose(part.X.take(rows), number).shown[0] for number, rows in enumerate(tests)]
    shown = stars[np.arange(len(tests)), first]
    return float((stars.max(axis=1) - shown).mean() / part.span), plain


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Traces and test errors of each segment of a course, and what else is measured after the last one.

    `errors` are those of the first item that the rule chooses, `score_error` is that of the top score.
    """

    traces: tuple[Trace, ...]
    errors: tuple[float, ...]
    score_error: float
    seconds: float
    length_correlation: float | None
    centred_error: float | None


def follow(spec: Spec, algorithm: str, point: dict[str, Any], part: Part, course: Course) -> Outcome:
    """Learn from the whole course; the test error is measured after every segment."""
    learner = learner_for(spec, algorithm, part.X.dim, point)
    traces, errors, seconds = [], [], 0.0
    for number, segment in enumerate(course.segments):
        start = time.perf_counter()
        traces.append(simulate(learner, segment, judge=spec.judge, seed=course.seed + number))
        seconds += time.perf_counter() - start
        error, plain = first_error(learner, part, course.tests, last=number + 1 == len(course.segments))
        errors.append(error)
    correlation = length_correlation(part, scores_of(learner, part, part.evaluation))
    centred = centred_error(learner, part, course, traces)
    return Outcome(tuple(traces), tuple(errors), plain, seconds, correlation, centred)


def measured(outcome: Outcome, passes: int, span: float) -> dict[str, Any]:
    """The record of one outcome as JSON values; `span` is the number of stars that make an error of 1."""
    regret = np.concatenate([trace.regret for trace in outcome.traces])
    query = np.concatenate([trace.query for trace in outcome.traces])
    best = np.concatenate([trace.best for trace in outcome.traces])
    shown = np.concatenate([trace.rewards for trace in outcome.traces])
    asked, duels = query != Query.NONE, query == Query.DUEL
    rounds, answers = regret.size, np.cumsum(asked)
    ends = np.cumsum([trace.query.size for trace in outcome.traces])
    points = np.unique(np.concatenate([np.linspace(1, rounds, _POINTS).astype(int), ends]))
    errors = dict(zip(ends.tolist(), outcome.errors, strict=True))
    total = np.cumsum(regret)
    return {
        "error": outcome.errors[-1],
        "score_error": outcome.score_error,
        "shows": 1 if (query == Query.BEST).any() else 2,
        "online_error": float(star_error(best, shown[:, 0], span=span).mean()),
        "regret": float(total[-1]),
        "trained": int(rounds),
        "answers": int(answers[-1]),
        "query_rate": float(asked.mean()),
        "query_rates": [float(piece.mean()) for piece in np.split(asked, passes)],
        "equal_pairs": float((shown[duels, 0] == shown[duels, 1]).mean()) if duels.any() else None,
        "length_correlation": outcome.length_correlation,
        "mean_answer": mean_answer(outcome.traces),
        "centred_error": outcome.centred_error,
        "seconds": outcome.seconds,
        "curve": {
            "round": points.tolist(),
            "regret": total[points - 1].tolist(),
            "answers": answers[points - 1].tolist(),
            "error": [errors.get(int(t)) for t in points],
        },
    }


def ridge_scores(X: SparseRows, rows: Ints, targets: Floats, penalties: Floats, Y: SparseRows, wanted: Ints) -> Floats:
    """(penalties, rows of Y): scores of the wanted rows of Y, else 0, by ridge regression on these rows of X.

    The penalties increase.
    """
    duals = dual_coefficients(X.indptr, X.indices, X.data, rows, X.dim, targets, penalties, _TOLERANCE, _STEPS)
    scores = np.zeros((penalties.size, len(Y)))
    for row, dual in zip(scores, duals, strict=True):
        weights = primal_weights(X.indptr, X.indices, X.data, rows, X.dim, dual)
        row[wanted] = row_scores(Y.indptr, Y.indices, Y.data, wanted, weights)
    return scores


@dataclass(frozen=True, slots=True)
class ChosenScores:
    """The index of the best of several scores on development sets, its error there, and its error on test sets."""

    best: int
    tuning_error: float
    error: float


def chosen(part: Part, scores: Floats, development: Ints, tests: Ints) -> ChosenScores:
    """Choose among scores (P, rows of X) on the development sets; the first of equals."""
    errors = [test_error(part, development, each) for each in scores]
    best = int(np.argmin(errors))
    return ChosenScores(best, errors[best], test_error(part, tests, scores[best]))


def ridge(
    part: Part, sets: list[tuple[Ints, Ints]], development: Ints, penalties: tuple[float, ...]
) -> tuple[list[dict[str, Any]], float]:
    """The ceiling for several (development sets, test sets): ridge on the true stars, penalty from development.

    Returns one record for each and the seconds of the one fit they share.
    """
    rows = rows_of(part, part.learning)
    start = time.perf_counter()
    targets = part.stars[rows] - part.stars[rows].mean()
    wanted = rows_of(part, np.concatenate([development, part.evaluation]))
    scores = ridge_scores(part.X, rows, targets, np.array(penalties), part.X, wanted)
    seconds = time.perf_counter() - start
    found = []
    for tuning, tests in sets:
        choice = chosen(part, scores, tuning, tests)
        point = {"penalty": penalties[choice.best]}
        found.append({"error": choice.error, "parameters": point, "tuning_error": choice.tuning_error})
    return found, seconds


def length_correlation(part: Part, scores: Floats) -> float | None:
    """Correlation of the test rows' scores with their number of features; None where either is constant."""
    rows = rows_of(part, part.evaluation)
    lengths = np.diff(part.X.indptr)[rows].astype(np.float64)
    return correlation(scores[rows], lengths)


def correlation(one: Floats, two: Floats) -> float | None:
    """Pearson's correlation of two vectors, None where one of them is constant.

    >>> correlation(np.array([1.0, 2.0, 4.0]), np.array([2.0, 4.0, 8.0])), correlation(np.ones(2), np.arange(2.0))
    (1.0, None)
    """
    if np.ptp(one) == 0.0 or np.ptp(two) == 0.0:
        return None
    return float(np.clip(np.corrcoef(one, two)[0, 1], -1.0, 1.0))


def mean_answer(traces: Sequence[Trace]) -> float | None:
    """The mean of all answers, which is the mean target of a learner that shows one item."""
    asked = np.concatenate([trace.answers[trace.query != Query.NONE] for trace in traces])
    return float(asked.mean()) if asked.size else None


def centred_error(learner: Learner, part: Part, course: Course, traces: Sequence[Trace]) -> float | None:
    """Test error of the same questions and answers with the answers' mean subtracted; None where it is undefined.

    It is defined for a single item shown and the coordinate update, whose weights are b/A: A is the sum of squares of
    the rows shown, b the sum of the rows times their answers.
    """
    values = learner.parameters
    if values.get("update") != "coordinate" or values.get("alpha") != 1.0 or values["model"] != "diagonal":
        return None
    answers = np.concatenate([trace.answers for trace in traces])
    first = np.concatenate([trace.shown[:, 0] for trace in traces])
    rows = course.sets[np.arange(first.size), first]
    weights = answer_weights(part, rows, answers - answers.mean(), values["lam"])
    wanted, scores = rows_of(part, part.evaluation), np.zeros(len(part.X))
    scores[wanted] = row_scores(part.X.indptr, part.X.indices, part.X.data, wanted, weights)
    return test_error(part, course.tests, scores)


def answer_weights(part: Part, rows: Ints, answers: Floats, lam: float) -> Floats:
    """(D,): the weights of the coordinate update after these answers about single rows of X."""
    shown = part.X.csr()[rows]
    spread = lam + np.asarray(shown.multiply(shown).sum(axis=0)).ravel()
    return np.asarray((shown.T @ answers) / spread, np.float64)
