"""A domain as arrays on disk: built once, memory-mapped by workers, and rebuilt by a worker that cannot read them."""

import functools
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.data import digits, reviews, splits, synthetic
from conquer.data.reviews import NoReviewsError
from conquer.data.scales import STARS, Scale
from conquer.features.vocabulary import tabulate
from conquer.rows import SparseRows
from conquer.study.reviews.sources import DomainSource, fingerprint
from conquer.types import Floats, Ints

_LEVELS = 11
"""Ratings with at most this many different values, such as 0 to 10, are discrete."""
_NO_RATINGS: Floats = np.empty((0, 0))
_NO_GROUPS: Ints = np.empty((0, 0), np.int64)
_ARRAYS = ("indptr", "indices", "data", "stars", "ratings", "groups", "hashes")


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Counts of all n-grams (or finished features), stars, individual ratings, and rows that belong together.

    `groups` (U, K) are the rows of each fixed round; empty where rounds are drawn from single reviews.
    `hashes` has one content hash per review or group. `span` is the difference between the best and the worst possible
    stars, where the error is 1. `discrete`: the ratings are a few whole numbers on their scale, so that every part of
    the domain can have each of them in proportion.
    """

    name: str
    rows: SparseRows
    stars: Floats
    ratings: Floats
    groups: Ints
    hashes: NDArray[np.uint64]
    span: float = 4.0
    discrete: bool = True

    @property
    def units(self) -> int:
        """The number of reviews or groups that are split into parts."""
        return self.hashes.size

    @property
    def strata(self) -> Floats:
        """(units,): the stars that the development part keeps in proportion, constant if they are not discrete."""
        return self.stars if self.discrete and self.groups.size == 0 else np.ones(self.units)


def build(source: DomainSource) -> tuple[Domain, dict[str, Any]]:
    """The domain, and facts about how it was read."""
    if source.kind == "synthetic":
        documents = synthetic.generate(source.name, source.reviews, source.seed)
        cut = documents.indptr
        hashes = splits.content_hashes(documents.tokens[cut[i] : cut[i + 1]].tobytes() for i in range(len(documents)))
        rows, keys = documents.ngrams()
        words = np.where(keys < 2**20, 1, 2)  # the key of a single word is its number
        rows = select_columns(rows, (words >= source.ngrams[0]) & (words <= source.ngrams[1]))
        return Domain(source.name, renumbered(rows), documents.stars, _NO_RATINGS, _NO_GROUPS, hashes), {}
    if source.kind == "digits":
        data = digits.load()
        hashes = splits.content_hashes(str(i).encode() for i in range(len(data.groups)))
        span = digits.RIGHT - digits.WRONG
        return Domain(source.name, data.rows, data.stars, _NO_RATINGS, data.groups, hashes, span), {}
    return _from_files(source)


def _from_files(source: DomainSource) -> tuple[Domain, dict[str, Any]]:
    found: list[reviews.Review] = []
    about: dict[str, Any] = {"unreadable": 0, "problems": []}
    for path in source.files:
        reading = reviews.read(path, text=source.text, rating=source.rating, scale=source.scale)
        try:
            found.extend(reading)
        except NoReviewsError as error:
            about["problems"].append(str(error))
            continue
        about["unreadable"] += reading.unreadable
        about["problems"] += reading.problems
    if not found:
        raise NoReviewsError("; ".join(about["problems"]))
    hashes = splits.content_hashes(review.text.encode() for review in found)
    first = np.sort(np.unique(hashes, return_index=True)[1])
    stars = np.array([review.stars for review in found])
    about |= {"read": len(found), "duplicates": len(found) - first.size}
    about["scale"] = None if source.scale is None else str(source.scale)
    chosen = first
    discrete = _is_discrete(stars, source.scale or STARS)
    if source.balance == "stars" and discrete:
        chosen = first[splits.balanced(stars[first], hashes[first])]
    about["balanced"] = source.balance == "stars" and discrete
    rows = renumbered(tabulate([found[i].text for i in chosen], ngrams=source.ngrams)[1])
    ratings = _ratings([found[i].ratings for i in chosen])
    return Domain(source.name, rows, stars[chosen], ratings, _NO_GROUPS, hashes[chosen], discrete=discrete), about


def _is_discrete(stars: Floats, scale: Scale) -> bool:
    """Whether these stars are whole numbers on their scale, with few different values."""
    steps = scale.steps(stars)
    return bool((np.abs(steps - np.round(steps)) < 1e-9).all()) and np.unique(np.round(steps)).size <= _LEVELS


def _ratings(people: list[tuple[float, ...]]) -> Floats:
    if not all(people):
        return _NO_RATINGS
    table = np.full((len(people), max(map(len, people))), np.nan)
    for row, given in zip(table, people, strict=True):
        row[: len(given)] = given
    return table


def select_columns(rows: SparseRows, columns: NDArray[np.bool_]) -> SparseRows:
    """The same rows with only the entries of these columns (D,).

    >>> rows = SparseRows([0, 2, 3], [0, 2, 0], [1.0, 2.0, 3.0], 3)
    >>> select_columns(rows, np.array([False, True, True])).dense().tolist()
    [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]
    """
    wanted = columns[rows.indices]
    starts = np.concatenate([[0], np.cumsum(wanted)])[rows.indptr]
    return SparseRows(starts, rows.indices[wanted], rows.data[wanted], rows.dim)


def renumbered(rows: SparseRows) -> SparseRows:
    """The same rows with columns numbered by decreasing frequency and, among equals, by the row they first occur in.

    Most n-grams are rare; this puts those of one review side by side in a model's memory.

    >>> renumbered(SparseRows([0, 2, 4], [7, 3, 3, 1], [1.0, 2.0, 3.0, 4.0], 8)).dense().tolist()
    [[2.0, 1.0, 0.0], [3.0, 0.0, 4.0]]
    """
    from scipy.sparse import csr_array

    frequency = np.bincount(rows.indices, minlength=rows.dim)
    first = np.zeros(rows.dim, np.int64)
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    first[rows.indices[::-1]] = owner[::-1]
    order = np.lexsort((first, -frequency))
    place = np.empty(rows.dim, np.int32)
    place[order] = np.arange(rows.dim, dtype=np.int32)
    used = int((frequency > 0).sum())
    matrix = csr_array((rows.data.copy(), place[rows.indices], rows.indptr.copy()), shape=(len(rows), used))
    matrix.sort_indices()
    return SparseRows(matrix.indptr, matrix.indices, matrix.data, used)


def store(source: DomainSource, folder: Path) -> dict[str, Any]:
    """Build the domain into `folder` unless it is there, atomically; returns the facts known about it."""
    place = folder / source.key
    if not place.exists():
        domain, about = build(source)
        values, counts = np.unique(domain.stars, return_counts=True)
        about |= {
            "name": source.name,
            "reviews": domain.units,
            "features": domain.rows.dim,
            "entries": int(domain.rows.data.size),
            "stars": {f"{v:g}": int(n) for v, n in zip(values, counts, strict=True)} if values.size <= _LEVELS else {},
            "discrete": domain.discrete,
            "rated": bool(domain.ratings.size),
            "grouped": bool(domain.groups.size),
            "span": domain.span,
            "source": asdict(source),
        }
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder))
        sparse = domain.rows.indptr, domain.rows.indices, domain.rows.data
        arrays: tuple[NDArray[Any], ...] = (*sparse, domain.stars, domain.ratings, domain.groups, domain.hashes)
        for name, array in zip(_ARRAYS, arrays, strict=True):
            np.save(temporary / f"{name}.npy", array)
        (temporary / "about.json").write_text(json.dumps(about))
        try:
            os.rename(temporary, place)
        except OSError:
            # Another worker has just stored the same content.
            shutil.rmtree(temporary)
            if not place.exists():
                raise
    about = json.loads((place / "about.json").read_text())
    return dict(about)


def development_size(about: dict[str, Any], share: float) -> int:
    """The number of reviews that `splits.development` gives for these facts of `store`.

    >>> development_size({"stars": {"1": 50, "5": 50}, "grouped": False, "reviews": 100, "discrete": True}, 0.15)
    16
    """
    stars = about["stars"] if about["discrete"] and not about["grouped"] else {}
    return sum(round(share * size) for size in (stars.values() or [about["reviews"]]))


@functools.lru_cache(maxsize=2)
def load(source: DomainSource, folder: str) -> Domain:
    """The domain, memory-mapped from `folder`; a worker that cannot see the folder builds its own from the source."""
    place = Path(folder) / source.key
    if not place.exists():
        own = Path(tempfile.gettempdir()) / f"conquer-domains-{os.getuid() if hasattr(os, 'getuid') else 0}"
        if source.kind == "files" and fingerprint(tuple(map(Path, source.files))) != source.fingerprint:
            raise ValueError(f"{source.name}: {', '.join(source.files)} differs on this worker from the study's file")
        store(source, own)
        place = own / source.key
    arrays = {name: np.load(place / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
    about = json.loads((place / "about.json").read_text())
    rows = SparseRows(arrays["indptr"], arrays["indices"], arrays["data"], about["features"])
    plain = {name: np.array(arrays[name]) for name in ("stars", "ratings", "groups", "hashes")}
    return Domain(source.name, rows, **plain, span=about["span"], discrete=about["discrete"])
