"""Where a study's domains come from, known before anything is read."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from conquer.data import paper, reviews
from conquer.study.cells.store import key
from conquer.study.reviews.files import chosen, files
from conquer.study.reviews.spec import EMBEDDED, PROTOCOL, Spec


@dataclass(frozen=True, slots=True)
class DomainSource:
    """Where a domain comes from, small enough to send to any worker; `fingerprint` identifies its content."""

    kind: str
    name: str
    files: tuple[str, ...]
    reviews: int
    seed: int
    balance: str
    fingerprint: str
    text: str | None = None
    rating: str | None = None
    ngrams: tuple[int, int] = (1, 2)

    @property
    def key(self) -> str:
        """The name of the domain's content, the same wherever its files lie."""
        columns = [name for name in (self.text, self.rating) if name is not None]
        content = self.kind, self.name, self.reviews, self.seed, self.balance, self.fingerprint, self.ngrams, *columns
        return key("domain", PROTOCOL, *content)


def sources(spec: Spec) -> tuple[DomainSource, ...]:
    """The domains a specification names, before anything is read."""
    if spec.data == "synthetic":
        plan = paper.sizes(spec.reviews)
        made = "synthetic-2"
        found = [
            DomainSource("synthetic", name, (), size, spec.seed, spec.balance, made) for name, size in plan.items()
        ]
    elif spec.data == "digits":
        found = [DomainSource("digits", "digits", (), 1797, 0, "none", "scikit-learn, 1 and 0")]
    else:
        found = []
        for name, paths in files(spec.data, spec.domains).items():
            places = tuple(str(path.resolve()) for path in paths)
            content = fingerprint(paths)
            found.append(DomainSource("files", name, places, 0, 0, spec.balance, content, spec.text, spec.rating))
    every = {source.name: replace(source, ngrams=(spec.ngrams[0], spec.ngrams[-1])) for source in found}
    return tuple(chosen(every, spec.domains, spec.data).values())


def ignored(spec: Spec) -> tuple[str, ...]:
    """Names of what lies in the data folder and is no review file."""
    path = Path(spec.data)
    if spec.data in EMBEDDED or not path.is_dir():
        return ()
    return tuple(str(p.relative_to(path)) for p in reviews.find(path)[1])


def fingerprint(paths: tuple[Path, ...]) -> str:
    """What these files hold, in 32 letters."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
