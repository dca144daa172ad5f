"""Rivals for fixed arms without features: the table of wins, and the rules that choose which two arms meet."""

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, one_of, positive, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.learner import Arrays, Method, MethodBuilder, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Ints

LATEST = 1e15
"""The latest time of a clock: an arm that would return after it does not return."""


class ArmRule:
    """Which two of K arms meet. `wins` (K, K) is the table of wins, `clock` the time.

    `choose` is pure and returns (first, second, notes); equal arms ask nothing. `learn` gets the notes back with the
    answer and checks them before it changes anything. `grow` makes room for `count` arms in new arrays.
    """

    def grow(self, count: int) -> None:
        pass

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        raise NotImplementedError

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        pass

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: Arrays, count: int) -> None:
        pass


class Arms:
    """A rule over arms: item i of every round is arm i.

    The clock counts answers. Rounds of an arm against itself ask nothing, so they cannot advance it: a rule whose paper
    counts them notes the time at which it asks again, and the clock continues from there.
    """

    duels = True
    shows = 2
    fixed_arms = True

    def __init__(self, rule: ArmRule) -> None:
        self.rule, self.clock = rule, 1.0
        self.wins: Floats = np.zeros((0, 0))

    def _grown(self, count: int) -> tuple[ArmRule, Floats]:
        """Copies of the rule and of the wins with room for `count` arms: choosing must not change them."""
        rule, more = copy.copy(self.rule), max(count - len(self.wins), 0)
        rule.grow(len(self.wins) + more)
        return rule, np.pad(self.wins, (0, more))

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        rule, wins = self._grown(len(X))
        first, second, notes = rule.choose(wins[: len(X), : len(X)], self.clock, draws)
        return duel(first, second, {"notes": dict(notes)})

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        notes = choice.memo.get("notes")
        if not isinstance(notes, Mapping) or not isinstance(notes.get("clock", 0), int | float):
            raise ValueError(f"the choice must keep its notes in its memo, got {notes!r}")
        first, second = choice.shown
        rule, wins = self._grown(len(X))
        wins[first, second] += 0.5 * (1.0 + answer)
        wins[second, first] += 0.5 * (1.0 - answer)
        rule.learn(notes, first, second, answer, len(wins))
        self.rule, self.wins = rule, wins
        self.clock = max(self.clock, float(notes.get("clock", 0))) + 1.0

    def scores(self, X: SparseRows) -> Floats:
        """(K,): each arm's share of wins, averaged over the arms of the round; one half without duels."""
        wins = self._grown(len(X))[1][: len(X), : len(X)]
        return np.asarray(((wins + 1.0) / (wins + wins.T + 2.0)).mean(axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"wins": self.wins, "clock": np.array([self.clock]), **self.rule.arrays()}

    def restore(self, arrays: Arrays) -> None:
        wins, clock = adopt(arrays, {"wins": (-1, -1), "clock": (1,)})
        if wins.shape != (len(wins), len(wins)) or (wins < 0).any() or clock[0] < 1:
            raise ValueError("wins must be a square table of numbers of at least 0, and the clock at least 1")
        self.rule.restore(arrays, len(wins))
        self.wins, self.clock = wins, float(clock[0])


def fixed_arms(rule: Callable[[Values], ArmRule]) -> MethodBuilder:
    """The builder of a rival that is a rule over fixed arms; `rule(values)` makes the rule."""

    def build(dim: int, model: str, values: Values) -> Method:
        return Arms(rule(values))

    return build


def shares_and_bonus(wins: Floats, alpha: float, clock: float) -> tuple[Floats, Floats]:
    """(n, n) each: wins/n and sqrt(alpha ln t/n), both 1 where n = 0."""
    n = wins + wins.T
    met = n > 0
    safe = np.where(met, n, 1.0)
    return np.where(met, wins / safe, 1.0), np.where(met, np.sqrt(alpha * np.log(clock) / safe), 1.0)


def wake(clock: float, at: float, draws: Draws, number: int) -> bool:
    """True with probability 1/(at - clock), so that the expected silence until `at` is the paper's."""
    return draws.uniform(number) * max(at - clock, 1.0) < 1.0


class InterleavedFilter(ArmRule):
    """The champion meets the others in turn; after each sweep the beaten are eliminated, and a better arm takes over.

    Yisong Yue, Josef Broder, Robert Kleinberg and Thorsten Joachims: The K-armed dueling bandits problem, 2009, 2012.
    Widths are sqrt(4 ln(T K^2)/n). Draw 0 is the first champion.

    `horizon`: the number of rounds T. `prune` (variant 2): a defeated champion takes the arms it led with it.

    >>> from conquer.registry import make
    >>> learner = make("interleaved-filter", dim=3, horizon=100)
    >>> learner.choose(np.eye(3), 7).memo["notes"]
    {'champion': 0, 'count': 3}
    """

    def __init__(self, *, horizon: int, prune: bool) -> None:
        self.horizon, self.prune = horizon, prune
        self.champion = -1
        self.alive: NDArray[np.bool_] = np.zeros(0, bool)
        self.met: Floats = np.zeros(0)
        self.won: Floats = np.zeros(0)

    def grow(self, count: int) -> None:
        more = max(count - self.alive.size, 0)
        self.alive = np.concatenate([self.alive, np.ones(more, bool)])
        self.met, self.won = (np.concatenate([array, np.zeros(more)]) for array in (self.met, self.won))

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        count = len(wins)
        champion = self.champion if self.champion >= 0 else draws.below(0, count)
        if champion >= count:  # in a round of fewer arms nothing can be learnt about the champion
            return 0, 1, {"champion": -1}
        notes = {"champion": champion, "count": count}
        others = [arm for arm in range(count) if self.alive[arm] and arm != champion]
        if not others:
            return champion, champion, notes
        return champion, min(others, key=lambda arm: self.met[arm]), notes

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        champion, met = notes.get("champion"), notes.get("count", 0)
        if not isinstance(champion, int) or not isinstance(met, int):
            raise ValueError(f"the choice must keep its champion and count in its notes, got {champion!r} and {met!r}")
        if self.champion < 0 and champion == first:
            self.champion = champion
        if champion != self.champion or first != champion or not self.alive[second]:
            return  # a late answer: there is another champion, or the arm is eliminated
        self.met[second] += 1.0
        self.won[second] += 0.5 * (1.0 + answer)
        others = np.flatnonzero(self.alive & (np.arange(self.alive.size) != champion))
        if self.met[second] == self.met[others].min():  # the last of its sweep
            self._sweep(others, max(met, 2))

    def _sweep(self, others: Ints, count: int) -> None:
        n = self.met[others]
        shares = self.won[others] / n
        c = np.sqrt(4.0 * math.log(self.horizon * count**2) / n)
        self.alive[others[shares - c > 0.5]] = False
        better = np.flatnonzero(shares + c < 0.5)
        if better.size:
            if self.prune:
                self.alive[others[shares > 0.5]] = False
            self.alive[self.champion] = False
            self.champion = int(others[better[0]])
            self.met[:], self.won[:] = 0.0, 0.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        state = np.array([self.champion], np.int64)
        return {"champion": state, "alive": self.alive.astype(np.int64), "met": self.met, "won": self.won}

    def restore(self, arrays: Arrays, count: int) -> None:
        champion, alive = adopt(arrays, {"champion": (1,), "alive": (-1,)}, np.int64)
        met, won = adopt(arrays, {"met": alive.shape, "won": alive.shape})
        if not -1 <= champion[0] < count <= alive.size or (won < 0).any() or (won > met).any():
            raise ValueError(f"the champion must be in [-1, {count}), with at most as many wins as duels")
        self.champion, self.alive, self.met, self.won = int(champion[0]), alive != 0, met, won


def _interleaved_filter(values: Values) -> InterleavedFilter:
    prune = one_of("prune", values["prune"], {"no": 0, "yes": 1})
    return InterleavedFilter(horizon=whole("horizon", values["horizon"], 1), prune=bool(prune))


interleaved_filter = fixed_arms(_interleaved_filter)


class BeatTheMean(ArmRule):
    """The least played arm meets a random one; the worst arm is eliminated once its interval lies below the best's.

    Yisong Yue and Thorsten Joachims: Beat the mean bandit, 2011. Widths are 3 gamma^2 sqrt(ln(2 T K)/n*), n* the fewest
    duels of an arm. A duel counts for its first arm only; duels with an eliminated arm are deleted from all records.
    Draw 0 is the opponent (another arm: a duel with itself is a coin toss that shifts all means alike). Ties for the
    fewest duels: tie-breaking draw 0.

    `horizon`: the number of rounds T. `gamma`: scales the widths, 1 where preferences are strongly transitive.

    >>> from conquer.registry import make
    >>> learner = make("beat-the-mean", dim=3, horizon=100)
    >>> learner.learn(np.eye(3), learner.choose(np.eye(3), 7), +1)
    >>> learner.model.rule.met.sum(axis=1).tolist()
    [0.0, 0.0, 1.0]
    """

    def __init__(self, *, horizon: int, gamma: float) -> None:
        self.horizon, self.gamma = horizon, gamma
        self.alive: NDArray[np.bool_] = np.zeros(0, bool)
        self.met: Floats = np.zeros((0, 0))
        self.won: Floats = np.zeros((0, 0))

    def grow(self, count: int) -> None:
        old = self.alive.size
        if count > old:
            self.alive = np.concatenate([self.alive, np.ones(count - old, bool)])
            self.met, self.won = (np.pad(array, (0, count - old)) for array in (self.met, self.won))

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        alive = np.flatnonzero(self.alive[: len(wins)])
        notes = {"count": len(wins)}
        if alive.size < 2:
            last = int(alive[0]) if alive.size else 0
            return last, last, notes
        first = draws.largest(-self.met[alive].sum(axis=1))
        others = np.delete(alive, first)
        return int(alive[first]), int(others[draws.below(0, others.size)]), notes

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        met = notes.get("count")
        if not isinstance(met, int) or met < 2:
            raise ValueError(f"the choice must keep the number of arms in its notes, got {met!r}")
        if not (self.alive[first] and self.alive[second]):
            return  # the answer came after one of them was eliminated
        self.met[first, second] += 1.0
        self.won[first, second] += 0.5 * (1.0 + answer)
        self._drop(met)

    def _drop(self, count: int) -> None:
        alive = np.flatnonzero(self.alive)
        n = self.met[alive].sum(axis=1)
        if alive.size < 2 or n.min() == 0:
            return
        shares = self.won[alive].sum(axis=1) / n
        c = 3.0 * self.gamma**2 * math.sqrt(math.log(2.0 * self.horizon * count) / n.min())
        if shares.min() + c <= shares.max() - c:
            worst = alive[shares.argmin()]
            self.alive[worst] = False
            self.met[:, worst], self.won[:, worst] = 0.0, 0.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"alive": self.alive.astype(np.int64), "met": self.met, "won": self.won}

    def restore(self, arrays: Arrays, count: int) -> None:
        (alive,) = adopt(arrays, {"alive": (-1,)}, np.int64)
        met, won = adopt(arrays, {"met": (alive.size, alive.size), "won": (alive.size, alive.size)})
        if alive.size < count or (won < 0).any() or (won > met).any():
            raise ValueError(f"records must cover {count} arms, with at most as many wins as duels")
        self.alive, self.met, self.won = alive != 0, met, won


def _beat_the_mean(values: Values) -> BeatTheMean:
    gamma = positive("gamma", values["gamma"])
    return BeatTheMean(horizon=whole("horizon", values["horizon"], 1), gamma=gamma)


beat_the_mean = fixed_arms(_beat_the_mean)


class RUCB(ArmRule):
    """A champion that may beat all others, against the arm most likely to beat it.

    Masrour Zoghi, Shimon Whiteson, Remi Munos and Maarten de Rijke: Relative upper confidence bound for the K-armed
    dueling bandit problem, 2014.

    Candidates are the arms whose upper bounds against all others are at least 1/2. The champion is the only candidate;
    of several the previous best with probability 1/2, else a random other (draw 0); without any a random arm. Its
    opponent has the largest upper bound against it. Where that is below 1/2 the paper duels the champion with itself;
    here nothing is asked, or the clock jumps to the next real duel (draw 1, see `wake`).

    `alpha`: the widths are sqrt(alpha ln t/n).

    >>> from conquer.registry import make
    >>> learner = make("rucb", dim=3, alpha=0.51)
    >>> learner.choose(np.eye(3), 7).memo["notes"]
    {'clock': 1.0, 'best': -1}
    """

    def __init__(self, *, alpha: float) -> None:
        self.alpha, self.best = alpha, -1

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        share, bonus = shares_and_bonus(wins, self.alpha, clock)
        upper = share + bonus
        np.fill_diagonal(upper, 0.5)
        candidates = np.flatnonzero((upper >= 0.5).all(axis=1)).tolist()
        best = candidates[0] if len(candidates) == 1 else self.best if self.best in candidates else -1
        champion = self._champion(candidates, best, len(wins), draws.uniform(0))
        values = upper[:, champion].copy()
        notes = {"clock": clock, "best": best}
        if np.delete(values, champion).max() < 0.5:
            n = wins[:, champion] + wins[champion]
            gaps = np.delete(n * (0.5 - share[:, champion]) ** 2, champion)
            at = max(math.ceil(math.exp(min(gaps.min() / self.alpha, math.log(LATEST)))), clock + 1)
            if not wake(clock, at, draws, 1):
                return champion, champion, notes
            share, bonus = shares_and_bonus(wins, self.alpha, at)
            values, notes["clock"] = (share + bonus)[:, champion], float(at)
        return champion, draws.largest(values, tie=1, skip=champion), notes

    @staticmethod
    def _champion(candidates: list[int], best: int, count: int, u: float) -> int:
        if not candidates:
            return min(int(u * count), count - 1)
        others = [arm for arm in candidates if arm != best]
        if best >= 0 and (u < 0.5 or not others):
            return best
        rest = 2.0 * u - 1.0 if best >= 0 else u
        return others[min(int(rest * len(others)), len(others) - 1)]

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        best = notes.get("best", -1)
        if not isinstance(best, int) or not -1 <= best < count:
            raise ValueError(f"the best arm must be in [-1, {count}), got {best!r}")
        self.best = best

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"best": np.array([self.best], np.int64)}

    def restore(self, arrays: Arrays, count: int) -> None:
        (best,) = adopt(arrays, {"best": (1,)}, np.int64)
        if not -1 <= best[0] < count:
            raise ValueError(f"the best arm must be in [-1, {count}), got {best[0]}")
        self.best = int(best[0])


rucb = fixed_arms(lambda values: RUCB(alpha=positive("alpha", values["alpha"])))


class RMED1(ArmRule):
    """Arms whose divergence from being the winner is at most ln t + f(K) take turns.

    Junpei Komiyama, Junya Honda, Hisashi Kashima and Hiroshi Nakagawa: Regret lower bound and optimal algorithm in
    dueling bandit problem, 2015.

    Every pair meets once first, in order. Then each candidate of the list plays the most likely winner i* if that may
    beat it, otherwise its hardest opponent. A turn of i* against itself asks nothing; draw 0 decides whether the next
    real duel comes now, so that the expected silence is the paper's (`wake`). Where i* is alone on the list and no
    arm returns before the latest time, nothing more is asked.

    `margin`: f(K) = margin K^1.01.

    >>> from conquer.registry import make
    >>> make("rmed1", dim=3, margin=0.3).choose(np.eye(3), 7).shown
    (0, 1)
    """

    def __init__(self, *, margin: float) -> None:
        self.margin = margin
        self.remaining: list[int] = []
        self.coming: list[int] = []

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        count = len(wins)
        for i in range(count):
            for j in range(i + 1, count):
                if wins[i, j] + wins[j, i] == 0:
                    return i, j, {"clock": clock, "remaining": [], "coming": []}
        mean, divergence = divergences(wins)
        winner = int(divergence.argmin())
        remaining = [arm for arm in self.remaining if arm < count] or list(range(count))
        coming = [arm for arm in self.coming if arm < count]
        time, silent = clock, 0.0
        while True:
            arm = remaining[0]
            opponent = self._opponent(arm, winner, mean)
            remaining, coming = self._turn(remaining, coming, divergence, time, count)
            notes = {"clock": time, "remaining": remaining, "coming": coming}
            if opponent != arm:
                break
            if remaining == [winner]:
                # Alone on the list: the next arm returns when ln t has grown to its divergence.
                away = np.delete(divergence, winner).min() - divergence[winner] - self._allowance(count)
                if away >= math.log(LATEST):
                    return winner, winner, {**notes, "clock": clock}
                at = max(math.ceil(math.exp(away)), time + 1)
                silent, time = silent + (at - time), at
            else:
                silent, time = silent + 1, time + 1
        if silent and not wake(0.0, silent + 1, draws, 0):
            return winner, winner, notes
        return arm, opponent, notes

    def _allowance(self, count: int) -> float:
        return self.margin * math.pow(count, 1.01)

    @staticmethod
    def _opponent(arm: int, winner: int, mean: Floats) -> int:
        losing = [j for j in range(len(mean)) if j != arm and mean[arm, j] <= 0.5]
        if winner in losing or not losing:
            return winner
        return min((j for j in range(len(mean)) if j != arm), key=lambda j: mean[arm, j])

    def _turn(
        self, remaining: list[int], coming: list[int], divergence: Floats, time: float, count: int
    ) -> tuple[list[int], list[int]]:
        """The lists after a turn of the first remaining arm: (this pass, the next)."""
        remaining = remaining[1:]
        allowed = math.log(time) + self._allowance(count)
        fresh = [
            j
            for j in range(count)
            if j not in remaining and j not in coming and divergence[j] - divergence.min() <= allowed
        ]
        coming = coming + fresh
        return (remaining, coming) if remaining else (sorted(coming), [])

    def learn(self, notes: Mapping[str, Any], first: int, second: int, answer: float, count: int) -> None:
        lists = notes.get("remaining"), notes.get("coming")
        for found in lists:
            if not isinstance(found, list | tuple) or not all(isinstance(k, int) and 0 <= k < count for k in found):
                raise ValueError(f"the lists must hold arms in [0, {count}), got {lists!r}")
        self.remaining, self.coming = list(lists[0] or ()), list(lists[1] or ())

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"remaining": np.array(self.remaining, np.int64), "coming": np.array(self.coming, np.int64)}

    def restore(self, arrays: Arrays, count: int) -> None:
        remaining, coming = adopt(arrays, {"remaining": (-1,), "coming": (-1,)}, np.int64)
        for found in (remaining, coming):
            if found.size and not (found.min() >= 0 and found.max() < count):
                raise ValueError(f"the lists must hold arms in [0, {count}), got {found.tolist()}")
        self.remaining, self.coming = remaining.tolist(), coming.tolist()


def divergences(W: Floats) -> tuple[Floats, Floats]:
    """(mean (n, n), I (n,)): shares of wins, and I_i = sum over arms that i does not beat of N kl(mean, 1/2)."""
    n = W + W.T
    mean = W / np.where(n > 0, n, 1.0)
    np.fill_diagonal(mean, 0.5)
    p = np.clip(mean, 1e-300, 1.0)
    q = np.clip(1.0 - mean, 1e-300, 1.0)
    kl = mean * np.log(2.0 * p) + (1.0 - mean) * np.log(2.0 * q)
    losing = (mean <= 0.5) & ~np.eye(len(W), dtype=bool)
    return mean, np.where(losing, n * kl, 0.0).sum(axis=1)


rmed1 = fixed_arms(lambda values: RMED1(margin=number("margin", values["margin"], 0.0)))


class DoubleThompson(ArmRule):
    """A champion by sampled preferences among the optimistic Copeland winners, then its challenger.

    Huasen Wu and Xin Liu: Double Thompson sampling for dueling bandits, 2016.

    The challenger has the largest fresh sample of the champion's column among arms that the champion does not certainly
    beat. Draws 0 to K(K-1)/2 - 1 sample the pairs i < j in order, the next K the column. Time counts answers: rounds of
    the champion against itself are not learnt and not counted.

    `alpha`: the widths are sqrt(alpha ln t/n).

    >>> from conquer.registry import make
    >>> learner = make("double-thompson", dim=3, alpha=0.51)
    >>> learner.choose(np.eye(3), 7).shown
    (1, 0)
    """

    def __init__(self, *, alpha: float) -> None:
        self.alpha = alpha

    def choose(self, wins: Floats, clock: float, draws: Draws) -> tuple[int, int, Mapping[str, Any]]:
        from scipy.special import betaincinv

        count = len(wins)
        share, bonus = shares_and_bonus(wins, self.alpha, clock)
        upper, lower = share + bonus, share - bonus
        np.fill_diagonal(upper, 0.5)
        np.fill_diagonal(lower, 0.5)
        copeland = (upper > 0.5).sum(axis=1)
        rows, columns = np.triu_indices(count, 1)
        uniforms = draws.uniforms(rows.size + count)
        sampled = np.full((count, count), 0.5)
        sampled[rows, columns] = betaincinv(wins[rows, columns] + 1, wins[columns, rows] + 1, uniforms[: rows.size])
        sampled[columns, rows] = 1.0 - sampled[rows, columns]
        beaten = np.where(copeland == copeland.max(), (sampled > 0.5).sum(axis=1), -1)
        champion = draws.largest(beaten.astype(np.float64))
        column = betaincinv(wins[:, champion] + 1, wins[champion] + 1, uniforms[rows.size :])
        column[champion] = 0.5
        column[lower[:, champion] > 0.5] = -1.0
        return champion, draws.largest(np.asarray(column, np.float64), tie=1), {}


double_thompson = fixed_arms(lambda values: DoubleThompson(alpha=positive("alpha", values["alpha"])))
