"""What a model's log adds up to besides weights: counts, a learning curve, agreement; of bounded size."""

from typing import Any

import msgspec

BINS = 128
_REASONS = 20
"""Skipped rows that are listed."""
RATERS = 256
"""Voters that are counted by name."""


class Bin(msgspec.Struct, array_like=True, gc=False):
    """A stretch of the curve: rounds, questions, answers learnt, and how often the first item won."""

    rounds: int = 0
    questions: int = 0
    learnt: int = 0
    first: float = 0.0


class Person(msgspec.Struct):
    """A voter's answers, time, and how often a question asked again got the same answer: theirs, or another's."""

    answers: int = 0
    seconds: float = 0.0
    timed: int = 0
    again: int = 0
    same: int = 0
    between: int = 0
    shared: int = 0


class Tally(msgspec.Struct):
    """Running sums over the log. The curve halves its resolution when it is full, so it never grows."""

    ordinal: int = 0
    rounds: int = 0
    questions: int = 0
    learnt: int = 0
    ignored: dict[str, int] = {}
    undone: int = 0
    flags: int = 0
    first: float = 0.0
    width: int = 1
    curve: list[Bin] = []
    everyone: Person = msgspec.field(default_factory=Person)
    """Time and agreement of all voters together."""
    people: dict[str, Person] = {}
    asked: dict[str, list[int]] = {}
    """Of questions about a part of an item: the parts that have been answered, as the words of a sentence."""
    votes: int = 0
    """Votes from elsewhere."""
    settled: int = 0
    """Flags that have been dealt with."""
    quarantined: int = 0
    """Rows that could not be read or learnt."""
    reasons: list[tuple[int, str]] = []
    """The first of those: position and what was wrong."""

    def quarantine(self, position: int, reason: str) -> None:
        self.quarantined += 1
        if len(self.reasons) < _REASONS:
            self.reasons.append((position, reason))

    def _bin(self) -> Bin:
        place = max(self.rounds - 1, 0) // self.width
        if place < len(self.curve):
            return self.curve[place]
        while place >= BINS:
            self.curve += [Bin()] * (len(self.curve) % 2)
            pairs = zip(self.curve[::2], self.curve[1::2], strict=True)
            self.curve = [_joined(a, b) for a, b in pairs]
            self.width *= 2
            place //= 2
        self.curve += [Bin() for _ in range(place + 1 - len(self.curve))]
        return self.curve[place]

    def choice(self, ordinal: int, asked: bool) -> None:
        """Count a round, and whether it asked something."""
        self.ordinal = max(self.ordinal, ordinal + 1)
        self.rounds += 1
        here = self._bin()
        here.rounds += 1
        self.questions += asked
        here.questions += asked

    def answer(self, shown: int, value: float | None, reason: str | None, voter: str | None) -> None:
        """Count an answer to a question with this number of shown items."""
        self._person(voter).answers += 1
        if value is None:
            self.ignored[str(reason)] = self.ignored.get(str(reason), 0) + 1
            return
        won = (value + 1) / 2 if shown <= 2 else float(value == 0)
        for one in (self, self._bin()):
            one.learnt += 1
            one.first += won

    def vote(self, voter: str | None) -> None:
        """Count a vote from elsewhere, which is no answer to this learner's questions."""
        self.votes += 1
        self._person(voter).answers += 1

    def _person(self, voter: str | None) -> Person:
        """The counts of one of the first voters; for others, counts that are not kept."""
        if voter and voter not in self.people and len(self.people) < RATERS:
            self.people[voter] = Person()
        return self.people.get(voter or "", Person())

    def answers_of(self, voter: str) -> int:
        """How many answers and votes a voter has given, if among the first."""
        return self.people.get(voter, Person()).answers

    def timing(self, seconds: float | None, voter: str | None) -> None:
        if seconds is None:
            return
        for one in (self.everyone, self._person(voter)):
            one.seconds += seconds
            one.timed += 1

    def repeat(self, agreed: bool, between: bool, voter: str | None) -> None:
        """Count a question asked again: whether the answer was the same, and whether another person gave the first."""
        for one in (self.everyone, self._person(voter)):
            one.between += between
            one.shared += between and agreed
            one.again += not between
            one.same += agreed and not between

    def forget(self, voter: str) -> bool:
        """Remove this voter's name; what they taught stays counted. Returns whether the name was there."""
        return self.people.pop(voter, None) is not None

    def summary(self) -> dict[str, Any]:
        """What `inspect` shows, JSON-able."""
        everyone = self.everyone
        return {
            "rounds": self.rounds,
            "questions": self.questions,
            "answers": {"learnt": self.learnt, "ignored": self.ignored, "undone": self.undone},
            "query_rate": _share(self.questions, self.rounds),
            "first_preferred": _share(self.first, self.learnt),
            "planted": {"answers": everyone.again, "agreement": _share(everyone.same, everyone.again)},
            "planted_between": {"answers": everyone.between, "agreement": _share(everyone.shared, everyone.between)},
            "seconds_per_answer": _share(everyone.seconds, everyone.timed),
            "flags": self.flags,
            **({"settled": self.settled} if self.settled else {}),
            **({"votes": self.votes} if self.votes else {}),
            "quarantined": {"rows": self.quarantined, "first": self.reasons},
            "voters": {name: person.answers for name, person in self.people.items()},
            "people": {name: _person(person) for name, person in self.people.items()},
            "curve": {"width": self.width, "bins": self.curve},
        }


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _person(person: Person) -> dict[str, Any]:
    return {
        "answers": person.answers,
        "seconds_per_answer": _share(person.seconds, person.timed),
        "agreement": _share(person.same, person.again),
        "agreement_with_others": _share(person.shared, person.between),
    }


def _joined(a: Bin, b: Bin) -> Bin:
    return Bin(a.rounds + b.rounds, a.questions + b.questions, a.learnt + b.learnt, a.first + b.first)


read_tally = msgspec.json.Decoder(Tally).decode
"""A tally from the JSON text beside a snapshot's weights."""
