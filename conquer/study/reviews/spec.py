"""What a study is: every number that moves a result, in one frozen record that also names the cells."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from conquer.data.scales import read_scale
from conquer.study.reviews.readings import PRESETS, READINGS, TUNED_AT, TUNINGS

if TYPE_CHECKING:
    from conquer.features.vocabulary import Kind

PROTOCOL = 4
"""Raised whenever the same specification would give other numbers, so that old cells are not taken for new."""

EMBEDDED = ("synthetic", "digits")
CEILING = "full-information"
PAPER = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit", "banditron", "random")
_UNUSED = "{} {} would not be used: {}"
_SMALL_DOMAINS = ("baby products", "electronics", "kindle", "watches")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One study under one reading; the fields are the options of `conquer study`, and say there what they mean.

    `algorithms` are registry names; the ceiling is always run beside them. `hashing`: None for one column per n-gram.
    `update` is the diagonal model's. `minimum`: files with fewer reviews after balancing are left out, and named.
    `development`, `test`: what they leave of a domain's reviews is for training.

    >>> Spec(items=(5,), repetitions=2).items
    (5,)
    """

    data: str = field(default="synthetic", metadata={"help": "synthetic, digits, a folder or a file of reviews."})
    domains: tuple[str, ...] | None = field(default=None, metadata={"help": "Only these domains, comma-separated."})
    items: tuple[int, ...] = field(default=(5, 10, 15, 20), metadata={"help": "Values of K, comma-separated."})
    algorithms: tuple[str, ...] = field(
        default=PAPER, metadata={"help": "paper, rivals, all, or names, comma-separated."}
    )
    repetitions: int = field(default=10, metadata={"help": "Splits of each domain into training and test part."})
    passes: int = field(default=1, metadata={"help": "Passes over the training rounds."})
    features: "Kind" = field(default="tfidf", metadata={"help": "binary, counts, tfidf or idf."})
    ngrams: tuple[int, ...] = field(
        default=(1, 2), metadata={"help": "Words in a row that make a feature: 1,2 or 1 or 2."}
    )
    hashing: int | None = field(default=None, metadata={"help": "n-grams share 2^this columns by a signed hash."})
    model: str = field(
        default="diagonal", metadata={"help": "diagonal, full or kernel, where an algorithm has the choice."}
    )
    update: str = field(default="implicit", metadata={"help": "implicit, margin or coordinate."})
    tuning: str = field(
        default="all", metadata={"help": "eta: only what a rule itself has; all: lam too, eight points either way."}
    )
    tune_at: str = field(default="several", metadata={"help": "Sets a point is judged on: run (this K) or several."})
    lam: float = field(default=1.0, metadata={"help": "The start of A where tuning is eta: A_0 = lam I."})
    judge: str = field(default="linear", metadata={"help": "linear, noisy, logistic, perfect or raters."})
    seed: int = field(default=0, metadata={"help": "What every draw depends on."})
    balance: str = field(default="stars", metadata={"help": "stars or none."})
    reviews: int = field(default=341_400, metadata={"help": "How many synthetic reviews in all."})
    minimum: int = field(default=500, metadata={"help": "Leave out domains with fewer reviews."})
    text: str | None = field(default=None, metadata={"help": "The column of your files that holds the text."})
    rating: str | None = field(default=None, metadata={"help": "The column of your files that holds the stars."})
    scale: str | None = field(
        default=None, metadata={"help": "What your ratings run from and to, such as 1:10; else it is seen from them."}
    )
    allow_unreadable: bool = field(
        default=False, metadata={"help": "Go on where more than 5 % of the rows cannot be read."}
    )
    test_sets: int = field(default=1000, metadata={"help": "Sets of K items that the test error is a mean of."})
    development: float = field(default=0.15, metadata={"help": "Share of the reviews for tuning, 0.15."})
    test: float = field(default=0.10, metadata={"help": "Share of the reviews for testing, 0.10."})
    penalties: tuple[float, ...] = field(
        default=(0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), metadata={"help": "The ceiling's, rising, comma-separated."}
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
            raise ValueError(f"ngrams must be numbers in a row from 1 to {most}, got {self.ngrams}")
        if not 0.0 < self.lam < math.inf:
            raise ValueError(f"lam must be a number above 0, got {self.lam}")
        if self.tuning == "all" and self._changed("lam"):
            raise ValueError(_UNUSED.format("lam", self.lam, "tuning 'all' chooses it"))
        if self.hashing is not None and not 4 <= self.hashing <= 25:
            raise ValueError(f"hashing must be 4 to 25 bits, got {self.hashing}")
        for name in ("development", "test"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"{name} must be a share between 0 and 1, got {getattr(self, name)}")
        if not self.development + self.test < 1.0:
            both = f"{self.development} + {self.test}"
            raise ValueError(f"development and test must leave something for training, got {both}")
        rising = all(low < high for low, high in itertools.pairwise((0.0, *self.penalties, math.inf)))
        if not self.penalties or not rising:
            raise ValueError(f"penalties must be rising numbers above 0, got {self.penalties}")
        if self.data == "digits" and self.items != (10,):
            raise ValueError(f"digits come in rounds of their 10 labels: items must be (10,), got {self.items}")
        if self.data in EMBEDDED and self.judge == "raters":
            raise ValueError(f"{self.data} has no individual ratings for judge 'raters'")
        if self.scale is not None:
            read_scale(self.scale)
            if self.data in EMBEDDED:
                raise ValueError(_UNUSED.format("scale", self.scale, f"{self.data} has stars from 1 to 5"))
        for name, known in _choices().items():
            if getattr(self, name) not in (*known,):
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")
        from conquer.checks import positive
        from conquer.judges import LAWS, known_judge

        if not known_judge(self.judge):
            raise ValueError(f"judge must be one of {', '.join(LAWS)}, got {self.judge!r}")
        positive("lam", self.lam)

    def settings(self) -> dict[str, Any]:
        """What a single cell's numbers depend on beside its own domain, items, algorithm and repetition."""
        names = ("passes", "features", "model", "update", "judge", "seed", "balance", "test_sets")
        always = {name: getattr(self, name) for name in names}
        return {"protocol": PROTOCOL, **always, **self._changed("hashing", "development", "test")}

    def ceiling(self) -> dict[str, Any]:
        """What the ceiling's numbers depend on besides."""
        return self._changed("penalties")

    def _changed(self, *names: str) -> dict[str, Any]:
        """The fields that differ from their defaults: options that came later leave the names of older cells alone."""
        defaults = {each.name: each.default for each in fields(self)}
        return {name: getattr(self, name) for name in names if getattr(self, name) != defaults[name]}

    def described(self) -> dict[str, Any]:
        """Every field, for the report."""
        return asdict(self)


def _choices() -> dict[str, Iterable[str]]:
    """The names a field may have. Where they stand takes long to import, so everything else is looked at first."""
    from conquer.features.vocabulary import KINDS
    from conquer.models.diagonal import UPDATES
    from conquer.registry import MODELS

    own: dict[str, Iterable[str]] = {"balance": ("stars", "none"), "tuning": TUNINGS, "tune_at": TUNED_AT}
    return own | {"features": KINDS, "model": MODELS, "update": UPDATES}


def preset(name: str, readings: tuple[str, ...] | None = None, **changes: Any) -> tuple[Spec, ...]:
    """The study of this name with some fields changed, one specification for each of its readings.

    `paper` is the paper to the letter, `ours` has our settings, both with the paper's domains, sizes and repetitions;
    `small` is both readings, complete but little. `readings` are run in place of the preset's.

    >>> [(spec.update, spec.repetitions) for spec in preset("small")]
    [('coordinate', 3), ('implicit', 3)]
    >>> preset("paper", update="margin") == preset("ours", readings=("margin",))
    True
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    chosen = PRESETS[name] if readings is None else readings
    unknown = [each for each in chosen if each not in READINGS]
    if unknown or not chosen:
        raise ValueError(f"no reading {', '.join(unknown) or 'given'}; there are {', '.join(READINGS)}")
    base: dict[str, Any] = {"domains": _SMALL_DOMAINS, "repetitions": 3, "reviews": 24_000} if name == "small" else {}
    given = {key: value for key, value in changes.items() if value is not None}
    if given.get("data", "synthetic") != "synthetic" and "domains" not in given:
        given["domains"] = None
        given.setdefault("repetitions", 10)
    if given.get("data") == "digits":
        given.setdefault("items", (10,))
        for option in ("features", "ngrams", "hashing", "balance"):
            if option in given:
                raise ValueError(_UNUSED.format(option, given[option], "digits are no texts"))
    specs = tuple(dict.fromkeys(Spec(**(READINGS[each] | base | given)) for each in chosen))
    if "lam" in given and any(spec.tuning == "all" for spec in specs):
        raise ValueError(_UNUSED.format("lam", given["lam"], "tuning 'all' chooses it"))
    return specs
