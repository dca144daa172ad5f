"""What the study of reviews computes in bulk: sets of items, scores of millions of them, and ridge regression."""

import numpy as np

from conquer.kernels.core.kernel import part, sized


@sized(lambda sets, *_: 3 * sets.size)
def mean_shortfall(sets, sizes, scores, worths):
    """Mean over the sets of (best worth - worth of the item with the top score); tied items count as their mean."""
    total = 0.0
    for t in range(sets.shape[0]):
        top, best = -np.inf, -np.inf
        worth, tied = 0.0, 0
        for j in range(sizes[t]):
            item = sets[t, j]
            best = max(best, worths[item])
            if scores[item] > top:
                top, worth, tied = scores[item], worths[item], 1
            elif scores[item] == top:
                worth += worths[item]
                tied += 1
        total += best - worth / tied
    return total / sets.shape[0]


@sized(lambda pool, tickets, sets: 10 * sets.size)
def draw_sets(pool, tickets, sets):
    """Fill `sets` (T, K) with K distinct members of `pool` a row, row t from tickets[t] alone; K <= pool.size."""
    count = sets.shape[1]
    for t in range(sets.shape[0]):
        state = tickets[t]
        for j in range(count):
            while True:
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                fresh = pool[int((state >> np.uint64(33)) * np.uint64(pool.size) >> np.uint64(31))]
                seen = False
                for i in range(j):
                    if sets[t, i] == fresh:
                        seen = True
                if not seen:
                    break
            sets[t, j] = fresh


@sized(lambda sets, *_: 3 * sets.size)
def equal_pairs(sets, sizes, worths):
    """The share of item pairs within a set whose worths are equal."""
    pairs, equal = 0, 0
    for t in range(sets.shape[0]):
        for i in range(sizes[t]):
            for j in range(i):
                pairs += 1
                if worths[sets[t, i]] == worths[sets[t, j]]:
                    equal += 1
    return equal / max(pairs, 1)


@part
def _gram(indptr, indices, data, rows, vector, room, out):
    """out = X X' vector for the chosen rows of X; `room` (D) is zero before and after."""
    for i in range(rows.size):
        for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
            room[indices[e]] += data[e] * vector[i]
    for i in range(rows.size):
        total = 0.0
        for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += data[e] * room[indices[e]]
        out[i] = total
    for i in range(rows.size):
        for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
            room[indices[e]] = 0.0


@sized(lambda indptr, indices, data, *_: 50 * data.size)
def dual_coefficients(indptr, indices, data, rows, dim, targets, penalties, tolerance, most):
    """(P, N) solutions c of (X X' + penalty I) c = targets for rising penalties, by conjugate gradients with shifts.

    All penalties share one Krylov space, so the cost is that of the smallest; stops when its residual has shrunk by
    `tolerance` or after `most` steps.
    """
    count, size = penalties.size, rows.size
    answers = np.zeros((count, size))
    steps = np.empty((count, size))
    for k in range(count):
        steps[k] = targets
    residual = targets.copy()
    direction = targets.copy()
    image = np.empty(size)
    room = np.zeros(dim)
    now, before = np.ones(count), np.ones(count)
    beta_before, alpha = 1.0, 0.0
    square = 0.0
    for i in range(size):
        square += residual[i] * residual[i]
    goal = square * tolerance * tolerance
    for _ in range(most):
        if square <= goal or square == 0.0:
            break
        _gram(indptr, indices, data, rows, direction, room, image)
        curvature = 0.0
        for i in range(size):
            image[i] += penalties[0] * direction[i]
            curvature += direction[i] * image[i]
        beta = -square / curvature
        square_next = 0.0
        for i in range(size):
            residual[i] += beta * image[i]
            square_next += residual[i] * residual[i]
        alpha_next = square_next / square
        for k in range(count):
            shift = penalties[k] - penalties[0]
            below = beta * alpha * (before[k] - now[k]) + before[k] * beta_before * (1.0 - shift * beta)
            after = now[k] * before[k] * beta_before / below if below != 0.0 else 0.0
            if now[k] != 0.0 and after != 0.0:
                beta_k = beta * after / now[k]
                alpha_k = alpha_next * after * beta_k / (now[k] * beta)
                for i in range(size):
                    answers[k, i] -= beta_k * steps[k, i]
                    steps[k, i] = after * residual[i] + alpha_k * steps[k, i]
            before[k], now[k] = now[k], after
        for i in range(size):
            direction[i] = residual[i] + alpha_next * direction[i]
        beta_before, alpha, square = beta, alpha_next, square_next
    return answers


@sized(lambda indptr, indices, data, *_: data.size)
def primal_weights(indptr, indices, data, rows, dim, coefficients):
    """w = X' c, (D,)."""
    weights = np.zeros(dim)
    for i in range(rows.size):
        for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
            weights[indices[e]] += data[e] * coefficients[i]
    return weights


@sized(lambda indptr, indices, data, *_: data.size)
def row_scores(indptr, indices, data, rows, weights):
    """X w for the chosen rows."""
    scores = np.empty(rows.size)
    for i in range(rows.size):
        total = 0.0
        for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += data[e] * weights[indices[e]]
        scores[i] = total
    return scores
