"""Maximum spanning arborescence of a dense graph in O(n^2): Edmonds' contractions along one growing path."""

import numpy as np

from conquer.kernels.core.kernel import part, sized


@part
def better(penalty, score, other_penalty, other_score):
    """Fewer penalties first, then the higher score: an exact constraint without a large constant in the scores."""
    return penalty < other_penalty or (penalty == other_penalty and score > other_score)


@part
def contract(path, first, last, best, score, penalty, source, target, alive, tree, parent, cycle, fresh):
    """Make path[first:last], a cycle, one node in the slot of path[first]; its tree id is `fresh`."""
    size = alive.size
    slot = path[first]
    for k in range(first, last):
        v = path[k]
        parent[tree[v]] = fresh
        cycle[tree[v], 0] = source[v, best[v]]
        cycle[tree[v], 1] = target[v, best[v]]
    for k in range(first + 1, last):
        alive[path[k]] = False
    for u in range(size):
        if not alive[u] or u == slot:
            continue
        # Entering the cycle at v replaces v's own edge of the cycle.
        chosen = -1
        in_penalty, in_score = np.int64(0), 0.0
        out = slot
        for k in range(first, last):
            v = path[k]
            p = penalty[v, u] - penalty[v, best[v]]
            s = score[v, u] - score[v, best[v]]
            if chosen < 0 or better(p, s, in_penalty, in_score):
                chosen, in_penalty, in_score = v, p, s
            if u > 0 and better(penalty[u, v], score[u, v], penalty[u, out], score[u, out]):
                out = v
        in_source, in_target = source[chosen, u], target[chosen, u]
        # Column `slot` of row u is free to change: the cycle's rows are read for u only once.
        score[u, slot], penalty[u, slot] = score[u, out], penalty[u, out]
        source[u, slot], target[u, slot] = source[u, out], target[u, out]
        score[size + u, 0], penalty[size + u, 0] = in_score, in_penalty
        source[size + u, 0], target[size + u, 0] = in_source, in_target
    for u in range(size):
        if alive[u] and u != slot:
            score[slot, u], penalty[slot, u] = score[size + u, 0], penalty[size + u, 0]
            source[slot, u], target[slot, u] = source[size + u, 0], target[size + u, 0]
    tree[slot] = fresh


@part
def edmonds(score, penalty, source, target, heads):
    """Write the best tree of `score[word, head]` (both consumed) into heads[1:]; row 0 and the diagonal are unused.

    The arrays have 2 (n + 1) rows, the lower half being scratch for `contract`.
    """
    size = heads.size
    alive = np.ones(size, np.bool_)
    done = np.zeros(size, np.bool_)
    done[0] = True
    best = np.zeros(size, np.int64)
    place = np.full(size, -1, np.int64)
    path = np.empty(size, np.int64)
    tree = np.arange(size)
    parent = np.full(2 * size, -1, np.int64)
    cycle = np.zeros((2 * size, 2), np.int64)
    edge = np.zeros((2 * size, 2), np.int64)
    fresh = size
    for start in range(1, size):
        if not alive[start] or done[start]:
            continue
        length = 0
        v = start
        while True:
            place[v] = length
            path[length] = v
            length += 1
            u = -1
            for other in range(size):
                if not alive[other] or other == v:
                    continue
                if u < 0 or better(penalty[v, other], score[v, other], penalty[v, u], score[v, u]):
                    u = other
            best[v] = u
            if done[u]:
                break
            if place[u] < 0:
                v = u
                continue
            first = place[u]
            contract(path, first, length, best, score, penalty, source, target, alive, tree, parent, cycle, fresh)
            fresh += 1
            length = first
            v = path[first]
        for k in range(length):
            place[path[k]] = -1
            done[path[k]] = True
    for v in range(1, size):
        if alive[v]:
            edge[tree[v], 0] = source[v, best[v]]
            edge[tree[v], 1] = target[v, best[v]]
    for node in range(fresh - 1, size - 1, -1):
        # The member that the chosen edge enters takes it; the others keep their edge of the cycle.
        entered = edge[node, 1]
        while parent[entered] != node:
            entered = parent[entered]
        for member in range(1, node):
            if parent[member] == node:
                if member == entered:
                    edge[member, 0], edge[member, 1] = edge[node, 0], edge[node, 1]
                else:
                    edge[member, 0], edge[member, 1] = cycle[member, 0], cycle[member, 1]
    for v in range(1, size):
        heads[v] = edge[v, 0]


@sized(lambda scores, *_: scores.size * len(scores))
def arborescence(scores, fixed, several_roots, heads):
    """heads[1:] = the tree of largest total `scores[word, head]` with the fewest departures from `fixed` (-1: free).

    Unless `several_roots`, as few words as possible hang from 0: one, or more where `fixed` demands it.
    """
    size = heads.size
    heads[0] = -1
    score = np.empty((2 * size, size))
    penalty = np.empty((2 * size, size), np.int64)
    source = np.empty((2 * size, size), np.int64)
    target = np.empty((2 * size, size), np.int64)
    for attempt in range(2):
        for v in range(1, size):
            for u in range(size):
                score[v, u] = scores[v, u]
                penalty[v, u] = 0 if fixed[v] < 0 or fixed[v] == u else size
                if attempt > 0 and u == 0:
                    penalty[v, u] += 1
                source[v, u] = u
                target[v, u] = v
        edmonds(score, penalty, source, target, heads)
        roots = 0
        for v in range(1, size):
            if heads[v] == 0:
                roots += 1
        if several_roots or roots == 1:
            return
