"""What a study of reviews is: one record with every setting, and the readings of what the paper leaves open.

To add an axis, add a field to `Spec`, name it in `Spec.settings` if the numbers of a cell depend on it, and give it a
value in `READINGS` if readings differ in it.
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

PROTOCOL = 4
"""Incremented when the same specification would give other numbers, so that cells of another method are not reused."""

EMBEDDED = ("synthetic", "digits")
CEILING = "full-information"
PAPER = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit", "banditron", "random")
_UNUSED = "{} {} would not be used: {}"
_SMALL_DOMAINS = ("baby products", "electronics", "kindle", "watches")

_LITERAL: dict[str, Any] = {
    "features": "binary", "ngrams": (1, 2), "model": "diagonal", "update": "coordinate", "lam": 1.0, "tuning": "eta",
    "tune_at": "run", "hashing": None, "balance": "stars",
}  # fmt: skip

READINGS: dict[str, dict[str, Any]] = {
    "paper": _LITERAL,
    "margin": _LITERAL | {"update": "margin"},
    "ours": _LITERAL | {"features": "idf", "update": "implicit", "tuning": "all", "tune_at": "several"},
}
"""{name: fields of `Spec`}. `paper` takes the paper literally with A_0 = I, `margin` has the update of its table."""

PRESETS = {"small": ("paper", "ours"), "paper": ("paper",), "ours": ("ours",)}
"""{name: its readings}."""

TUNINGS = ("eta", "all")
TUNED_AT = ("run", "several")
ETAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The grid of every rule that has an eta, where nothing else is tuned."""


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
    algorithms: tuple[str, ...] = option(PAPER, "paper, rivals, all, or names, comma-separated.")
    repetitions: int = option(10, "Splits of each domain into training and test part.")
    passes: int = option(1, "Passes over the training rounds.")
    features: "Kind" = option("tfidf", "binary, counts, tfidf or idf.")  # noqa: RUF009 - a field
    ngrams: tuple[int, ...] = option((1, 2), "Lengths of the n-grams, consecutive: 1,2 or 1 or 2.")
    hashing: int | None = option(None, "Hash n-grams into 2^this columns with signs.")
    model: str = option("diagonal", "diagonal, full or kernel, where an algorithm has the choice.")
    update: str = option("implicit", "implicit, margin or coordinate.")
    tuning: str = option("all", "eta: only a rule's own parameter; all: lam too; eight points either way.")
    tune_at: str = option("several", "Set sizes that tuning is judged on: run (this K) or several.")
    lam: float = option(1.0, "The start of A where tuning is eta: A_0 = lam I.")
    judge: str = option("linear", "linear, noisy, logistic, perfect or raters.")
    seed: int = option(0, "The seed of every draw.")
    balance: str = option("stars", "stars or none.")
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
        names = (
            "passes", "features", "model", "update", "judge", "seed", "balance", "test_sets", "hashing", "development",
            "test",
        )  # fmt: skip
        return {"protocol": PROTOCOL} | {name: getattr(self, name) for name in names}


def _choices() -> dict[str, Iterable[str]]:
    """The values that a field may have; imported late, because other mistakes are refused without these modules."""
    from conquer.features.vocabulary import KINDS
    from conquer.models.diagonal import UPDATES
    from conquer.registry import MODELS

    own: dict[str, Iterable[str]] = {"balance": ("stars", "none"), "tuning": TUNINGS, "tune_at": TUNED_AT}
    return own | {"features": KINDS, "model": MODELS, "update": UPDATES}


def preset(name: str, readings: tuple[str, ...] | None = None, **changes: Any) -> tuple[Spec, ...]:
    """The study of this name with some fields changed, one specification for each of its readings.

    `paper` takes the paper literally, `ours` has our settings, both with the paper's domains, sizes and repetitions;
    `small` has both readings on little data. `readings` replace those of the preset.

    >>> [(spec.update, spec.repetitions) for spec in preset("small")]
    [('coordinate', 3), ('implicit', 3)]
    >>> preset("paper", update="margin") == preset("ours", readings=("margin",))
    True
    """
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; presets are {', '.join(PRESETS)}")
    chosen = PRESETS[name] if readings is None else readings
    unknown = [each for each in chosen if each not in READINGS]
    if unknown or not chosen:
        raise ValueError(f"unknown reading {', '.join(unknown) or '(none given)'}; readings are {', '.join(READINGS)}")
    base: dict[str, Any] = {"domains": _SMALL_DOMAINS, "repetitions": 3, "reviews": 24_000} if name == "small" else {}
    given = {key: value for key, value in changes.items() if value is not None}
    if given.get("data", "synthetic") != "synthetic" and "domains" not in given:
        given["domains"] = None
        given.setdefault("repetitions", 10)
    if given.get("data") == "digits":
        given.setdefault("items", (10,))
        for option in ("features", "ngrams", "hashing", "balance"):
            if option in given:
                raise ValueError(_UNUSED.format(option, given[option], "digits are not texts"))
    specs = tuple(dict.fromkeys(Spec(**(READINGS[each] | base | given)) for each in chosen))
    if "lam" in given and any(spec.tuning == "all" for spec in specs):
        raise ValueError(_UNUSED.format("lam", given["lam"], "tuning 'all' chooses it"))
    return specs


def reading_of(spec: Spec) -> str:
    """The name of a specification's reading, or of the nearest reading with every setting that differs from it.

    Settings that all readings of a study share (data, judge, passes, seed, sizes) are in the head of the report.

    >>> reading_of(Spec(features="idf")), reading_of(Spec(features="tfidf")), reading_of(Spec(**READINGS["paper"]))
    ('ours', 'ours, features tfidf', 'paper')
    """
    others = {
        name: [field for field, value in fields.items() if getattr(spec, field) != value]
        for name, fields in READINGS.items()
    }
    name = min(others, key=lambda each: len(others[each]))
    return ", ".join([name, *(f"{field} {_plain(getattr(spec, field))}" for field in others[name])])


def in_order(names: Iterable[str]) -> list[str]:
    """Distinct names of readings in the order of `READINGS`.

    >>> in_order(["ours", "paper, ngrams 2", "paper"])
    ['paper', 'paper, ngrams 2', 'ours']
    """
    return sorted(set(names), key=lambda name: ([*READINGS].index(name.split(", ")[0]), name))


def _plain(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


def points(spec: Spec, algorithm: str) -> list[dict[str, Any]]:
    """The grid points of an algorithm: the registry's, or with tuning "eta" those of its own parameter alone.

    With tuning "eta" the specification's `lam` is used throughout. Rivals keep their grids under every reading.

    >>> points(preset("paper")[0], "ttg"), points(preset("paper")[0], "gnc")[0], len(points(preset("paper")[0], "gnc"))
    ([{'lam': 1.0}], {'eta': 0.01, 'lam': 1.0}, 8)
    """
    from conquer.registry import find, groups

    row = find(algorithm)
    names = {parameter.name for parameter in row.parameters}
    if spec.tuning == "all" or algorithm not in groups()["paper"] or "lam" not in names:
        return [dict(point) for point in row.grid]
    if "eta" not in names:
        return [{"lam": spec.lam}]
    return [{"eta": eta, "lam": spec.lam} for eta in ETAS]
