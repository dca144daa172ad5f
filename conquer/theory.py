"""The paper's bounds as functions, with the constants its proofs really give."""

import math


def _check(T: int, D: int, lam: float, delta: float) -> None:
    if T < 1 or D < 1 or lam < 1 or not 0 < delta < 1:
        raise ValueError(f"need T >= 1, D >= 1, lam >= 1, 0 < delta < 1, got {T}, {D}, {lam}, {delta}")


def theorem1(
    T: int, D: int, *, lam: float = 1.0, U: float = 1.0, Q: float = 0.0, delta: float = 0.05, paper: bool = False
) -> float:
    """With chance 1 - delta the regret of gnc with eta="theory" and projection after T rounds is at most this.

    R_T <= 2Q + 2 sqrt(2T) (sqrt((2Q + a) b) + b), a = (lam/2) U^2 + 36 ln((T + 4)/delta), b = 2D ln(1 + T/(lam D)).
    `paper=True` leaves out the factor 2 before the root that the proof loses on its way to the printed form.

    A round costs at most 2, so it says something once it is below 2T:

    >>> round(theorem1(1_000_000, 2) / 2_000_000, 2), round(theorem1(20_000, 20) / 40_000, 2)
    (0.33, 6.35)
    """
    _check(T, D, lam, delta)
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
    if S < 1:
        raise ValueError(f"the longest sentence S must have at least one word, got {S}")
    return S * theorem1(T, D, lam=lam, U=U, Q=Q, delta=delta, paper=paper)


def lemma1(confusion: float, eta: float, drift: float = 0.0, silent: bool = False) -> float:
    """The largest regret of one round while the confidence event holds: 2q + sqrt(eta c), without the width if silent.

    >>> lemma1(0.25, 4.0), lemma1(0.25, 4.0, silent=True)
    (1.0, 0.0)
    """
    return 2.0 * drift + (0.0 if silent else math.sqrt(eta * confusion))
