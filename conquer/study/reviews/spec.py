"""What a study of reviews is: one record with every setting, and the axes along which the paper can be read.

A reading is a value on each of the five `AXES`. To add an axis, add a field to `Spec` and a line to `AXES`, and name
the field in `Spec.settings` if the numbers of a cell depend on it.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conquer.data.scales import read_scale
from conquer.study.options import option

if TYPE_CHECKING:
    from conquer.features.vocabulary import Kind

PROTOCOL = 5
"""Incremented when the same specification would give other numbers, so that cells of another method are not reused."""

EMBEDDED = ("synthetic", "digits")
CEILING = "full-information"
PAPER = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit", "banditron", "random")
_UNUSED = "{} {} would not be used: {}"
_SMALL_DOMAINS = ("baby products", "electronics", "kindle", "watches")

AXES: dict[str, dict[str, str]] = {
    "rounds": {"training": "T=n", "training/20": "T=n/20", "training/K": "T=n/K"},
    "balance": {"none": "as found", "stars": "balanced"},
    "update": {"coordinate": "coordinate", "margin": "margin", "implicit": "implicit"},
    "features": {"binary": "binary", "idf": "idf", "tfidf": "tfidf", "counts": "counts"},
    "tuning": {"none": "untuned", "eta": "eta", "all": "eta+lam"},
}
"""{axis: {value: how a reading's name says it}}; n is the number of training reviews."""

READINGS: dict[str, dict[str, Any]] = {
    "paper": {
        "rounds": "training/20", "balance": "none", "update": "coordinate", "features": "binary", "tuning": "eta",
    },
    "ours": {"rounds": "training", "balance": "stars", "update": "implicit", "features": "idf", "tuning": "all"},
}  # fmt: skip
"""Two places in the space of axes. `paper` adds nothing to the text, with A_0 = I; `ours` is what works best."""

DECISIVE = {
    "rounds": ("training", "training/20"), "update": ("coordinate", "margin"), "features": ("binary",),
    "tuning": ("eta",),
}  # fmt: skip
"""The readings that are drawn side by side: those in which the axes vary that decide the paper's headline."""

PRESETS = {"small": ("paper", "ours"), "paper": ("paper",), "ours": ("ours",)}
"""{name: the readings it starts from}."""

_LITERAL: dict[str, Any] = {"ngrams": (1, 2), "model": "diagonal", "lam": 1.0, "hashing": None}
"""Settings that a reading's name mentions only where they differ."""
LARGEST = 20
"""The size of the disjoint sets of the rounds "training/20", whatever K is run."""
ETAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The grid of every rule that has an eta, where nothing else is tuned."""
ALPHAS = (1.0, 0.5, 0.0)
"""Confidit's grid has each of its points with each of these: alpha = 1 learns every "no" as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One study under one reading; the fields are the options of `conquer study`, described by their help texts.

    `algorithms` are registry names; the ceiling always runs beside them. `hashing` is None for one column per n-gram.
    `update` applies to the diagonal model. Domains with fewer than `minimum` reviews after balancing are left out and
    named in the report. What `development` and `test` leave of a domain's reviews is for training.

    >>> Spec(items=(5,), repetitions=2).items
    (5,)
    """

    data: str = option("synthetic", "synthetic, digits, a folder or a file of reviews.")
    domains: tuple[str, ...] | None = option(None, "Only these domains, comma-separated.")
    items: tuple[int, ...] = option((5, 10, 15, 20), "Values of K, comma-separated.")
    algorithms: tuple[str, ...] = option(PAPER, "paper, controls, rivals, all, or names, comma-separated.")
    repetitions: int = option(10, "Splits of each domain into training and test part.")
    passes: int = option(1, "Passes over the training rounds.")
    rounds: str = option("training", "Rounds of a run: training, training/20 (disjoint sets) or training/K (disjoint).")
    balance: str = option("stars", "stars (equally many reviews of each) or none.")
    features: "Kind" = option("tfidf", "binary, counts, tfidf or idf.")  # noqa: RUF009 - a field
    ngrams: tuple[int, ...] = option((1, 2), "Lengths of the n-grams, consecutive: 1,2 or 1 or 2.")
    hashing: int | None = option(None, "Hash n-grams into 2^this columns with signs.")
    model: str = option("diagonal", "diagonal, full or kernel, where an algorithm has the choice.")
    update: str = option("implicit", "implicit, margin or coordinate.")
    tuning: str = option("all", "none; eta: a rule's own parameter, on sets of K; all: lam too, on several sizes.")
    lam: float = option(1.0, "The start of A where tuning is none or eta: A_0 = lam I.")
    judge: str = option("linear", "linear, noisy, logistic, perfect or raters.")
    seed: int = option(0, "The seed of every draw.")
    reviews: int = option(341_400, "Total number of synthetic reviews.")
    minimum: int = option(500, "Leave out domains with fewer reviews.")
    text: str | None = option(None, "The column of your files that holds the text.")
    rating: str | None = option(None, "The column of your files that holds the stars.")
    scale: str | None = option(None, "The lowest and highest rating, such as 1:10; else inferred from the ratings.")
    allow_unreadable: bool = option(False, "Continue where more than 5 % of the rows cannot be read.")
    test_sets: int = option(1000, "Sets of K items that the test error is averaged over.")
    development: float = option(0.15, "Share of the reviews for tuning, 0.15.")
    test: float = option(0.10, "Share of the reviews for testing, 0.10.")
    penalties: tuple[float, ...] = option(
        (0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), "The ceiling's penalties, increasing, comma-separated."
    )

    def __post_init__(self) -> None:
        for name in ("repetitions", "passes", "test_sets", "minimum"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.items or min(self.items) < 2 or len(set(self.items)) != len(self.items):
            raise ValueError(f"items must be distinct numbers of at least 2, got {self.items}")
        if not self.algorithms or len(set(self.algorithms)) != len(self.algorithms):
            raise ValueError(f"algorithms must be distinct names, got {self.algorithms}")
        low, high = (self.ngrams or (0,))[0], (self.ngrams or (0,))[-1]
        most = 2 if self.data == "synthetic" else 4
        if self.ngrams != (*range(low, high + 1),) or not 1 <= low <= high <= most:
            raise ValueError(f"ngrams must be consecutive numbers from 1 to {most}, got {self.ngrams}")
        if not 1e-100 <= self.lam <= 1e100:
            raise ValueError(f"lam must be a finite number in [1e-100, 1e+100], got {self.lam:g}")
        if self.tuning == "all" and self.lam != 1.0:
            raise ValueError(_UNUSED.format("lam", self.lam, "tuning 'all' chooses it"))
        if self.hashing is not None and not 4 <= self.hashing <= 25:
            raise ValueError(f"hashing must be 4 to 25 bits, got {self.hashing}")
        for name in ("development", "test"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"{name} must be a share between 0 and 1, got {getattr(self, name)}")
        if not self.development + self.test < 1.0:
            both = f"{self.development} + {self.test}"
            raise ValueError(f"development and test must leave something for training, got {both}")
        increasing = all(low < high for low, high in itertools.pairwise((0.0, *self.penalties, math.inf)))
        if not self.penalties or not increasing:
            raise ValueError(f"penalties must be increasing numbers above 0, got {self.penalties}")
        if self.data == "digits" and self.items != (10,):
            raise ValueError(f"digits have rounds of their 10 labels: items must be (10,), got {self.items}")
        if self.rounds == "training/20" and max(self.items) > LARGEST:
            raise ValueError(f"rounds training/20 are disjoint sets of 20: items must be at most 20, got {self.items}")
        if self.data == "digits" and self.rounds != "training":
            raise ValueError(_UNUSED.format("rounds", self.rounds, "a round of digits is an image with its labels"))
        if self.data in EMBEDDED and self.judge == "raters":
            raise ValueError(f"{self.data} has no individual ratings for judge 'raters'")
        if self.scale is not None:
            read_scale(self.scale)
            if self.data in EMBEDDED:
                raise ValueError(_UNUSED.format("scale", self.scale, f"{self.data} has stars from 1 to 5"))
        for name, choices in _choices().items():
            if getattr(self, name) not in (*choices,):
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}")
        from conquer.judges import LAWS, known_judge

        if not known_judge(self.judge):
            raise ValueError(f"judge must be one of {', '.join(LAWS)}, got {self.judge!r}")

    def settings(self) -> dict[str, Any]:
        """What the numbers of a cell depend on besides its domain, items, algorithm, parameters and repetition."""
        return self.ceiling_settings() | {
            name: getattr(self, name) for name in ("passes", "rounds", "model", "update", "judge")
        }

    def ceiling_settings(self) -> dict[str, Any]:
        """What full information depends on: readings that differ in nothing else share its cells."""
        names = ("features", "seed", "balance", "test_sets", "hashing", "development", "test")
        return {"protocol": PROTOCOL} | {name: getattr(self, name) for name in names}


def _choices() -> dict[str, Iterable[str]]:
    """The values that a field may have; imported late, because other mistakes are refused without these modules."""
    from conquer.features.vocabulary import KINDS
    from conquer.models.diagonal import UPDATES
    from conquer.registry import MODELS

    own: dict[str, Iterable[str]] = {name: AXES[name] for name in ("rounds", "balance", "tuning")}
    return own | {"features": KINDS, "model": MODELS, "update": UPDATES}


def preset(name: str, **changes: Any) -> tuple[Spec, ...]:
    """The study of this name with some fields changed, one specification for each of its readings.

    `paper` and `ours` are a reading each, with the paper's domains, sizes and repetitions; `small` has both on little
    data. The value of an axis may list several, separated by commas: the study has every combination.

    >>> [(spec.update, spec.repetitions) for spec in preset("small")]
    [('coordinate', 3), ('implicit', 3)]
    >>> [(spec.balance, spec.update) for spec in preset("paper", balance="none,stars", update="margin")]
    [('none', 'margin'), ('stars', 'margin')]
    """
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; presets are {', '.join(PRESETS)}")
    base: dict[str, Any] = {"domains": _SMALL_DOMAINS, "repetitions": 3, "reviews": 24_000} if name == "small" else {}
    given = {key: value for key, value in changes.items() if value is not None}
    if given.get("data", "synthetic") != "synthetic" and "domains" not in given:
        given["domains"] = None
        given.setdefault("repetitions", 10)
    if given.get("data") == "digits":
        for option in ("rounds", "features", "ngrams", "hashing", "balance"):
            if option in given:
                raise ValueError(_UNUSED.format(option, given[option], "digits are not texts"))
        given = {"items": (10,), "rounds": "training"} | given
    axes = {axis: [part.strip() for part in given.pop(axis).split(",")] for axis in AXES if axis in given}
    combinations = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    specs = tuple(
        dict.fromkeys(
            Spec(**(READINGS[each] | base | given | chosen)) for each in PRESETS[name] for chosen in combinations
        )
    )
    if "lam" in given and any(spec.tuning == "all" for spec in specs):
        raise ValueError(_UNUSED.format("lam", given["lam"], "tuning 'all' chooses it"))
    return specs


def axes_of(spec: Spec) -> dict[str, str]:
    """The value of a specification on each axis."""
    return {axis: getattr(spec, axis) for axis in AXES}


def reading_of(spec: Spec) -> str:
    """The name of a specification's reading: its value on each axis, and other settings that are not the usual ones.

    Settings that all readings of a study share (data, judge, passes, seed, sizes) are in the head of the report.

    >>> reading_of(preset("paper")[0]), reading_of(preset("ours", ngrams=(2,))[0])
    ('T=n/20, as found, coordinate, binary, eta', 'T=n, balanced, implicit, idf, eta+lam, ngrams 2')
    """
    names = [AXES[axis][value] for axis, value in axes_of(spec).items()]
    other = [name for name, value in _LITERAL.items() if getattr(spec, name) != value]
    return ", ".join([*names, *(f"{name} {_plain(getattr(spec, name))}" for name in other)])


def short_names(names: Iterable[str]) -> dict[str, str]:
    """{name of a reading: what distinguishes it from the others}; a single reading keeps its name.

    >>> short_names(["T=n, balanced, margin", "T=n, as found, margin"])
    {'T=n, balanced, margin': 'balanced', 'T=n, as found, margin': 'as found'}
    """
    split = {name: name.split(", ") for name in names}
    alike = [len(set(values)) == 1 for values in itertools.zip_longest(*split.values())]
    return {
        name: ", ".join(part for part, same in zip(parts, alike, strict=False) if not same) or name
        for name, parts in split.items()
    }


def in_order(names: Iterable[str]) -> list[str]:
    """Distinct names of readings by the order of the axes' values.

    >>> in_order(["T=n, balanced, margin, idf, eta", "T=n, as found, margin, idf, eta"])[0]
    'T=n, as found, margin, idf, eta'
    """
    ranks = [{label: i for i, label in enumerate(values.values())} for values in AXES.values()]

    def rank(name: str) -> tuple[list[int], str]:
        return [places.get(part, 99) for places, part in zip(ranks, name.split(", "), strict=False)], name

    return sorted(set(names), key=rank)


def _plain(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


CONTROLS = {
    "gnc-always": ("gnc", "gnc with its gate off: it asks in every round"),
    "gnc-projected": ("gnc", "gnc with projection of every round's scores"),
    "ttg-projected": ("ttg", "ttg with projection of every round's scores"),
}
"""{name: (algorithm, what differs)}: runs of an algorithm at the parameters that were chosen for it."""


def points(spec: Spec, algorithm: str) -> list[dict[str, Any]]:
    """The grid points of an algorithm: the registry's; with tuning "eta" those of its own parameter; or its default.

    With tuning "eta" and "none" the specification's `lam` is used throughout. Rivals keep their grids unless nothing
    is tuned. Confidit's points come with each of `ALPHAS`.

    >>> (letter,) = preset("paper")
    >>> points(letter, "ttg"), points(letter, "gnc")[0], len(points(letter, "gnc")), len(points(letter, "confidit"))
    ([{'lam': 1.0}], {'eta': 0.01, 'lam': 1.0}, 8, 24)
    """
    from conquer.registry import find, groups

    row = find(algorithm)
    names = {parameter.name for parameter in row.parameters}
    own = algorithm in groups()["paper"] and "lam" in names
    if spec.tuning == "none":
        return [{"eta": 1.0, "lam": spec.lam} if "eta" in names and own else {"lam": spec.lam} if own else {}]
    if spec.tuning == "all" or not own:
        grid = [dict(point) for point in row.grid]
    else:
        grid = [{"eta": eta, "lam": spec.lam} for eta in ETAS] if "eta" in names else [{"lam": spec.lam}]
    return [point | {"alpha": alpha} for alpha in ALPHAS for point in grid] if algorithm == "confidit" else grid
