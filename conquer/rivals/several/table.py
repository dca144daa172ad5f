"""Rows of the rivals that can show more than two items."""

from conquer.checks import number, one_of, whole
from conquer.learners.algorithm import Parameter, Values, grid
from conquer.rivals.learner import Method
from conquer.rivals.options import ALL, ESTIMATION, LAM, LARGEST_FULL, estimator_of, rival
from conquer.rivals.several.multinomial import UCBMNL
from conquer.rivals.several.several import CPPL, RankBreaking

_SHOW = Parameter("show", 2, "a whole number of at least 2: how many items are shown, or all if fewer")
_ETA = Parameter("eta", 1.0, "a number of at least 0: the factor of the widths")


def _show(values: Values) -> int:
    return whole("show", values["show"], 2, 1000)


def _ucb_mnl(dim: int, model: str, values: Values) -> Method:
    if model == "full" and dim > LARGEST_FULL:
        raise ValueError(f"model='full' takes at most {LARGEST_FULL} features here, got {dim}")
    refit = bool(one_of("estimator", values["estimator"], {"newton": 0, "mle": 1}))
    if refit and model != "full":
        raise ValueError(f"estimator='mle' does not go with model={model!r}")
    return UCBMNL(
        dim,
        model=model,
        show=_show(values),
        eta=number("eta", values["eta"], 0.0),
        lam=number("lam", values["lam"], 0.0, above=True),
        curve=number("curve", values["curve"], 0.0, above=True),
        refit=refit,
    )


def _cppl(dim: int, model: str, values: Values) -> Method:
    if dim > LARGEST_FULL:
        raise ValueError(f"cppl takes at most {LARGEST_FULL} features, got {dim}")
    return CPPL(
        dim,
        show=_show(values),
        omega=number("omega", values["omega"], 0.0),
        pace=number("pace", values["pace"], 0.0, above=True),
        lam=number("lam", values["lam"], 0.0, above=True),
        outside=bool(one_of("outside", values["outside"], {"no": 0, "yes": 1})),
    )


SEVERAL = (
    rival(
        "rank-breaking",
        "Greedy and the next upper bounds: the picked one of k beats each other shown",
        lambda dim, model, values: RankBreaking(
            estimator_of(dim, model, values), show=_show(values), eta=number("eta", values["eta"], 0.0)
        ),
        (_SHOW, _ETA, *ESTIMATION),
        grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0)),
        ALL,
    ),
    rival(
        "ucb-mnl",
        "UCB for the multinomial logit: the k best upper bounds, with an answer for none of these",
        _ucb_mnl,
        (
            _SHOW,
            _ETA,
            LAM,
            Parameter(
                "estimator", "newton", "'newton' (one step per answer), or with full 'mle' (refitted, the paper's)"
            ),
            Parameter("curve", 0.25, "a number above 0: the Newton step is V^-1 slope/curve"),
        ),
        grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0)),
    ),
    rival(
        "cppl",
        "Plackett-Luce bandit: the k best by worth and width, averaged gradient steps",
        _cppl,
        (
            _SHOW,
            Parameter("omega", 0.1, "a number of at least 0: the factor of the widths"),
            Parameter("pace", 1.0, "a number above 0: the first gradient step"),
            LAM,
            Parameter("outside", "no", "'yes': none of these is an answer; 'no': one is always picked"),
        ),
        grid(omega=(0.01, 0.03, 0.1, 0.3), pace=(0.3, 3.0)),
        ("full",),
        LARGEST_FULL,
    ),
)
