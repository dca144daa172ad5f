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
    """One voter's answers, time, and how often a question asked again got the same answer: theirs, or another's."""

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
    seconds: float = 0.0
    timed: int = 0
    width: int = 1
    curve: list[Bin] = []
    planted: int = 0
    planted_agreed: int = 0
    between: int = 0
    between_agreed: int = 0
    people: dict[str, Person] = {}
    asked: dict[str, list[int]] = {}
    """Of questions about a part of an item: the parts that have been answered, as the words of a sentence."""
    votes: int = 0
    """Votes from elsewhere."""
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
        for one in (self, self._person(voter)):
            one.seconds += seconds
            one.timed += 1

    def repeat(self, agreed: bool, between: bool, voter: str | None) -> None:
        """Count a question asked again: whether the answer was the same, and whether another person gave the first."""
        person = self._person(voter)
        if between:
            self.between += 1
            self.between_agreed += agreed
            person.between += 1
            person.shared += agreed
        else:
            self.planted += 1
            self.planted_agreed += agreed
            person.again += 1
            person.same += agreed

    def forget(self, voter: str) -> bool:
        """Remove this voter's name; what they taught stays counted. Returns whether the name was there."""
        return self.people.pop(voter, None) is not None

    def summary(self) -> dict[str, Any]:
        """What `inspect` shows, JSON-able."""
        return {
            "rounds": self.rounds,
            "questions": self.questions,
            "answers": {"learnt": self.learnt, "ignored": self.ignored, "undone": self.undone},
            "query_rate": self.questions / self.rounds if self.rounds else None,
            "first_preferred": self.first / self.learnt if self.learnt else None,
            "planted": {"answers": self.planted, "agreement": _share(self.planted_agreed, self.planted)},
            "planted_between": {"answers": self.between, "agreement": _share(self.between_agreed, self.between)},
            "seconds_per_answer": self.seconds / self.timed if self.timed else None,
            "flags": self.flags,
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
