"""One repetition of one domain at one K, for what is asked beside a study: the same splits, rounds and test sets."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conquer.data import splits
from conquer.features.vocabulary import Kind
from conquer.study.reviews import rounds
from conquer.study.reviews.domains import Domain, load, store
from conquer.study.reviews.sources import sources
from conquer.study.reviews.spec import Spec
from conquer.tickets import stream
from conquer.types import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What a cell of a study has: the part it sees, its course, and the sets on which a ceiling is chosen."""

    part: rounds.Part
    course: rounds.Course
    held: Ints
    development: Ints


def domains(spec: Spec) -> Iterator[Domain]:
    """The domains of a specification that are large enough for it, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        for source in sources(spec):
            if store(source, Path(folder))["reviews"] >= spec.minimum:
                yield load(source, folder)


def trials(spec: Spec) -> int:
    """At most so many trials there are: some domains may be too small."""
    return len(sources(spec)) * spec.repetitions


def trial(spec: Spec, domain: Domain, repetition: int, kind: Kind, items: int) -> Trial:
    """The repetition as a study of this specification would have it, with features of this kind."""
    held = splits.development(domain.strata, domain.hashes, spec.development)
    parts = splits.repetition(domain.units, held, repetition, spec.seed, domain.name, spec.test)
    part = rounds.restricted(domain, parts.training, parts.test, kind)
    name = (spec.seed, domain.name, repetition)
    course = rounds.course(part, items, part.learning.size, 1, spec.test_sets, (1.0,), *name)
    development = rounds.draw(part, held, spec.test_sets, items, stream("development", items, *name))
    return Trial(part, course, held, development)
