"""What a study is: every number that moves a result, in one frozen record that also names the cells."""

import hashlib
import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from conquer.study.reviews.files import EMBEDDED

if TYPE_CHECKING:
    from conquer.features.vocabulary import Kind

PROTOCOL = 3
"""Raised whenever the same specification would give other numbers, so that old cells are not taken for new."""

CEILING = "full-information"
PAPER = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit", "banditron", "random")
PRESETS = ("small", "paper")
_SMALL_DOMAINS = ("automotive", "baby", "electronics", "kindle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One study. `algorithms` are registry names; the ceiling is always run beside them.

    `hashing`: None for a column an n-gram, or how many bits of columns they share. `update` is the diagonal model's.
    `balance` is "stars" or "none". `reviews`: how many synthetic reviews all 33 domains have together. `minimum`: files
    with fewer reviews after balancing are left out, and named. `text`, `rating`: columns of one's own files.
    `development`, `test`: shares of a domain's reviews; the rest is for training. `penalties`: the ceiling's, rising.

    >>> Spec(items=(5,), repetitions=2).items
    (5,)
    """

    data: str = "synthetic"
    domains: tuple[str, ...] | None = None
    items: tuple[int, ...] = (5, 10, 15, 20)
    algorithms: tuple[str, ...] = PAPER
    repetitions: int = 10
    passes: int = 1
    features: "Kind" = "tfidf"
    hashing: int | None = None
    model: str = "diagonal"
    update: str = "implicit"
    judge: str = "linear"
    seed: int = 0
    balance: str = "stars"
    reviews: int = 341_400
    minimum: int = 500
    text: str | None = None
    rating: str | None = None
    test_sets: int = 1000
    development: float = 0.15
    test: float = 0.10
    penalties: tuple[float, ...] = (0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

    def __post_init__(self) -> None:
        for name in ("repetitions", "passes", "test_sets", "minimum"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.items or min(self.items) < 2 or len(set(self.items)) != len(self.items):
            raise ValueError(f"items must be distinct numbers of at least 2, got {self.items}")
        if not self.algorithms or len(set(self.algorithms)) != len(self.algorithms):
            raise ValueError(f"algorithms must be distinct names, got {self.algorithms}")
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
        for name, known in _choices().items():
            if getattr(self, name) not in (*known,):
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")

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
        defaults = {field.name: field.default for field in fields(self)}
        return {name: getattr(self, name) for name in names if getattr(self, name) != defaults[name]}

    def described(self) -> dict[str, Any]:
        """Every field, for the report."""
        return asdict(self)


def _choices() -> dict[str, Iterable[str]]:
    """The names a field may have. Where they stand takes long to import, so everything else is looked at first."""
    from conquer.features.vocabulary import KINDS
    from conquer.judges import LAWS
    from conquer.models.diagonal import UPDATES
    from conquer.registry import MODELS

    return {"features": KINDS, "model": MODELS, "update": UPDATES, "judge": LAWS, "balance": ("stars", "none")}


def preset(name: str, **changes: Any) -> Spec:
    """The study of this name with some fields changed.

    `small` is complete but little, for a first look; `paper` has the paper's domains, sizes and repetitions.

    >>> preset("small").repetitions, preset("paper", seed=3).reviews
    (3, 341400)
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    base: dict[str, Any] = {} if name == "paper" else {"domains": _SMALL_DOMAINS, "repetitions": 3, "reviews": 24_000}
    given = {key: value for key, value in changes.items() if value is not None}
    if given.get("data", "synthetic") != "synthetic" and "domains" not in given:
        given["domains"] = None
        given.setdefault("repetitions", 10)
    if given.get("data") == "digits":
        given.setdefault("items", (10,))
    return Spec(**(base | given))


def key(*content: Any) -> str:
    """A name made of content: equal content, equal name, on every machine.

    >>> key("cell", {"b": 1, "a": 2}) == key("cell", {"a": 2, "b": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
