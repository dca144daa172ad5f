"""Whether a learner's scores count words: their correlation with length, and what centring its target would change."""

from collections.abc import Sequence

import numpy as np

from conquer.kernels.study.ridge import row_scores
from conquer.simulation import Trace
from conquer.study.reviews.rounds import Course, Part, rows_of, test_error
from conquer.types import Floats, Ints, Learner, Query


def length_correlation(part: Part, scores: Floats) -> float | None:
    """Correlation of the test rows' scores with their number of features; None where either does not vary."""
    rows = rows_of(part, part.evaluation)
    lengths = np.diff(part.X.indptr)[rows].astype(np.float64)
    return correlation(scores[rows], lengths)


def correlation(one: Floats, two: Floats) -> float | None:
    """Pearson's correlation of two vectors, None where one of them does not vary.

    >>> correlation(np.array([1.0, 2.0, 4.0]), np.array([2.0, 4.0, 8.0])), correlation(np.ones(2), np.arange(2.0))
    (1.0, None)
    """
    if np.ptp(one) == 0.0 or np.ptp(two) == 0.0:
        return None
    return float(np.clip(np.corrcoef(one, two)[0, 1], -1.0, 1.0))


def mean_answer(traces: Sequence[Trace]) -> float | None:
    """The mean of all answers: for a learner that shows one item, of its target."""
    asked = np.concatenate([trace.answers[trace.query != Query.NONE] for trace in traces])
    return float(asked.mean()) if asked.size else None


def centred_error(learner: Learner, part: Part, course: Course, traces: Sequence[Trace]) -> float | None:
    """Test error of the same questions and answers with the answers' mean taken out; None where that has no meaning.

    It has one for a single item shown and the coordinate update, whose weights are b/A: A is the sum of squares of
    what was shown, b the sum of what was shown times its answer.
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
    """(D,): the weights that the coordinate update gives after these answers about single rows of X."""
    shown = part.X.csr()[rows]
    spread = lam + np.asarray(shown.multiply(shown).sum(axis=0)).ravel()
    return np.asarray((shown.T @ answers) / spread, np.float64)
