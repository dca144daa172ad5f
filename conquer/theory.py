"""The paper's bounds as functions, with the constants its proofs really give, and ours on how often gnc asks."""

import math

from conquer.checks import LARGEST, number, whole

_MOST = 2**62
"""The most rounds and features."""


def _check(T: int, D: int, lam: float, U: float, Q: float, delta: float) -> None:
    whole("T", T, 1, _MOST)
    whole("D", D, 1, _MOST)
    number("U", U, 0, LARGEST)
    number("Q", Q, 0, LARGEST)
    number("delta", delta, 0, 1, above=True, below=True)


def theorem1(
    T: int, D: int, *, lam: float = 1.0, U: float = 1.0, Q: float = 0.0, delta: float = 0.05, paper: bool = False
) -> float:
    """With chance 1 - delta the regret of gnc with eta="theory" and projection after T rounds is at most this.

    R_T <= 2Q + 2 sqrt(2T) (sqrt((2Q + a) b) + b), a = (lam/2) U^2 + 36 ln((T + 4)/delta), b = 2D ln(1 + T/(lam D)).
    `paper=True` leaves out the factor 2 before the root that the proof loses on its way to the printed form.

    A round costs at most 2, so the bound is informative once it is below 2T:

    >>> round(theorem1(1_000_000, 2) / 2_000_000, 2), round(theorem1(20_000, 20) / 40_000, 2)
    (0.33, 6.35)
    """
    _check(T, D, lam, U, Q, delta)
    number("lam", lam, 1, LARGEST)
    a = 0.5 * lam * U**2 + 36.0 * math.log((T + 4) / delta)
    b = 2.0 * D * math.log(1.0 + T / (lam * D))
    return 2.0 * Q + (1.0 if paper else 2.0) * math.sqrt(2.0 * T) * (math.sqrt((2.0 * Q + a) * b) + b)


def theorem2(
    T: int,
    D: int,
    S: int,
    *,
    lam: float = 1.0,
    U: float = 1.0,
    Q: float = 0.0,
    delta: float = 0.05,
    paper: bool = False,
) -> float:
    """The same for trees: regret per sentence in units of a whole tree, S the longest sentence, ask="confusion".

    One question moves one edge of a tree scaled by its length, so the bound of theorem 1 is paid S times.

    >>> theorem2(1000, 2, 5) == 5 * theorem1(1000, 2)
    True
    """
    return whole("S", S, 1, _MOST) * theorem1(T, D, lam=lam, U=U, Q=Q, delta=delta, paper=paper)


def lemma1(confusion: float, eta: float, drift: float = 0.0, silent: bool = False) -> float:
    """The largest regret of one round while the confidence event holds: 2q + sqrt(eta c), without the width if silent.

    >>> lemma1(0.25, 4.0), lemma1(0.25, 4.0, silent=True)
    (1.0, 0.0)
    """
    for name, value in (("confusion", confusion), ("eta", eta), ("drift", drift)):
        number(name, value, 0, LARGEST)
    return 2.0 * drift + (0.0 if silent else math.sqrt(eta * confusion))


def questions(
    gap: float,
    D: int,
    *,
    eta: float | str = "tight",
    asked: int | None = None,
    lam: float = 1.0,
    U: float = 1.0,
    delta: float = 0.05,
) -> int:
    """With chance 1 - delta gnc asks at most this often in rounds whose best item leads the second by at least `gap`.

    N ln(1 + gap^2 / (16 beta)) <= D ln(1 + M / (lam D)) for N such questions among M, rows of at most unit norm,
    rewards within [-1, 1] (so no gap is above 2), any lam > 0, no drift (Q = 0), full model or linear kernel (the
    others have more than D features). beta is the factor under the root of the widths: a number
    `eta` (the learner's own at the end; then it holds where the widths cover), or the largest that eta="tight" or
    "theory" can reach with projection. `asked` is M; without it every round has the gap, so M = N, and how many
    rounds there are does not enter. 2**62 means no bound.

    >>> questions(1.0, 2), questions(1.0, 2, eta="theory")
    (24877, 501789)
    """
    _check(1, D, lam, U, 0.0, delta)
    number("lam", lam, 0, LARGEST, above=True)
    number("gap", gap, 0, 2, above=True)
    if isinstance(eta, str) and eta not in ("tight", "theory"):
        raise ValueError(f"eta must be a number, 'theory' or 'tight', got {eta!r}")
    fixed = None if isinstance(eta, str) else number("eta", eta, 0, LARGEST, above=True)

    def most(M: float) -> float:
        """The largest N among M questions; it grows with M."""
        growth = D * math.log1p(M / (lam * D))
        # sum h <= growth, and a projected score errs by at most 2.
        bound = 4.0 * growth + (2.0 * math.log(1 / delta) if eta == "tight" else 72.0 * math.log((M + 4) / delta))
        beta = lam * U**2 + bound if fixed is None else fixed
        least = math.log1p(gap**2 / (16.0 * beta))  # what every such question adds to ln det A
        return growth / least if least > 0.0 else math.inf

    if asked is not None:
        return math.floor(min(asked, most(whole("asked", asked, 0, _MOST))))
    bound = float(_MOST)
    # If N <= bound then N <= most(bound), so every iterate is a bound.
    for _ in range(10_000):
        lower = most(bound)
        if not lower < bound * (1.0 - 1e-12):
            break
        bound = lower
    return math.floor(bound)
