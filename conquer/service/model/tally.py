"""What a model's log adds up to besides weights: counts, a learning curve, agreement. Part of the fold, bounded."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

BINS = 128
PAIRS = 4096
RECENT = 20
"""Of the last answers so many are kept to look at."""
RATERS = 256


class Bin(msgspec.Struct, array_like=True, gc=False):
    """A stretch of the curve: rounds, questions, answers learnt, and how often the first item won."""

    rounds: int = 0
    questions: int = 0
    learnt: int = 0
    first: float = 0.0


class Recent(msgspec.Struct, gc=False):
    """One of the last answers, for people to look at."""

    event: str
    position: int
    winner: str
    shown: tuple[str, ...]
    at: float
    learnt: bool
    voter: str | None = None


class Person(msgspec.Struct):
    """One voter's time, and how often a question asked again got the same answer: their own, or another's."""

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
    expired: int = 0
    flags: int = 0
    first: float = 0.0
    seconds: float = 0.0
    timed: int = 0
    width: int = 1
    curve: list[Bin] = []
    recent: list[Recent] = []
    pairs: dict[str, tuple[int, float]] = {}
    """Per asked pair: answers and the sum of their values, from the alphabetically first item's side."""
    repeated: int = 0
    agreed: float = 0.0
    regret: float = 0.0
    planted: int = 0
    planted_agreed: int = 0
    between: int = 0
    between_agreed: int = 0
    voters: dict[str, int] = {}
    people: dict[str, Person] = {}
    swept: int = 0
    asked: dict[str, list[int]] = {}
    """Of questions about a part of an item: the parts that have been answered, as the words of a sentence."""
    history: list[tuple[int, float, int]] = []
    """A parser's (answers, share of right heads, held-out sentences), every time it was measured."""

    votes: int | msgspec.UnsetType = msgspec.UNSET
    """Votes from elsewhere, of models that have any."""
    settled: int | msgspec.UnsetType = msgspec.UNSET
    """Flags that have been dealt with, where any have."""
    quarantined: int = 0
    """Rows that could not be read or folded."""
    reasons: list[tuple[int, str]] = []
    """The first of those: position and what was wrong."""

    def quarantine(self, position: int, reason: str) -> None:
        self.quarantined += 1
        if len(self.reasons) < RECENT:
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
        self.choices(ordinal, (asked,))

    def choices(self, ordinal: int, asked: Sequence[bool]) -> None:
        """Rounds one after the other, the first of this ordinal, and whether each asked something."""
        self.ordinal = max(self.ordinal, ordinal + len(asked))
        counted = 0
        while counted < len(asked):
            self.rounds += 1
            here = self._bin()
            # All that fall into the same stretch are counted at once.
            part = asked[counted : counted + self.width - (self.rounds - 1) % self.width]
            self.rounds += len(part) - 1
            here.rounds += len(part)
            questions = sum(part)
            self.questions += questions
            here.questions += questions
            counted += len(part)

    def answer(self, shown: tuple[str, ...], value: float | None, reason: str | None, voter: str | None) -> None:
        if voter and (voter in self.voters or len(self.voters) < RATERS):
            self.voters[voter] = self.voters.get(voter, 0) + 1
        if value is None:
            self.ignored[str(reason)] = self.ignored.get(str(reason), 0) + 1
            return
        here = self._bin()
        self.learnt += 1
        here.learnt += 1
        won = (value + 1) / 2 if len(shown) <= 2 else float(value == 0)
        self.first += won
        here.first += won
        if len(shown) == 2:
            self._pair(shown, value)

    def duels(self, said: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """`answer` for many between two items, of nobody in particular, all learnt: what was shown and the value."""
        here, count = self._bin(), 0
        first, here_first = self.first, here.first
        for shown, value in said:
            count += 1
            won = (value + 1) / 2
            first += won
            here_first += won
            self._pair(shown, value)
        self.learnt += count
        here.learnt += count
        self.first, here.first = first, here_first

    def vote(self, voter: str | None) -> None:
        """A vote from elsewhere: it says nothing of this learner's own questions."""
        self.votes = (self.votes or 0) + 1
        if voter and (voter in self.voters or len(self.voters) < RATERS):
            self.voters[voter] = self.voters.get(voter, 0) + 1

    def _pair(self, shown: tuple[str, ...], value: float) -> None:
        """Where a pair comes back, earlier answers say how the learner's first pick compares with the other.

        Under the linear judge the mean answer is half the difference of rewards, so twice its negative part is what
        preferring the first item costs.
        """
        pairs = self.pairs
        first, second = shown
        sign, key = (1.0, f"{first}\x1f{second}") if first <= second else (-1.0, f"{second}\x1f{first}")
        count, total = pairs.pop(key, (0, 0.0))
        if count:
            mean = sign * total / count
            self.repeated += 1
            if mean < 0:
                self.regret -= 2 * mean
            self.agreed += 0.5 if value == 0 or mean == 0 else 1.0 if (value > 0) == (mean > 0) else 0.0
        pairs[key] = (count + 1, total + sign * value)
        if len(pairs) > PAIRS:
            del pairs[next(iter(pairs))]

    def note(self, recent: Recent) -> None:
        self.recent.append(recent)
        del self.recent[:-RECENT]

    def timing(self, seconds: float | None, voter: str | None) -> None:
        if seconds is None:
            return
        self.seconds += seconds
        self.timed += 1
        if voter in self.voters:
            person = self.people.setdefault(voter, Person())
            person.seconds += seconds
            person.timed += 1

    def repeat(self, agreed: bool, between: bool, voter: str | None) -> None:
        """A question asked again got the same answer or another, from the same person or from somebody else."""
        person = self.people.setdefault(voter, Person()) if voter in self.voters else Person()
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

    def measure(self, answers: int, uas: float, sentences: int) -> None:
        self.history.append((answers, uas, sentences))
        if len(self.history) > 2 * BINS:
            # The newest stays whatever its place is.
            self.history = self.history[-1::-2][::-1]

    def forget(self, voter: str) -> bool:
        """Nothing here names this voter any more, and what they taught stays counted; whether anything did."""
        named = voter in self.voters or voter in self.people or any(one.voter == voter for one in self.recent)
        self.voters.pop(voter, None)
        self.people.pop(voter, None)
        self.recent = [one for one in self.recent if one.voter != voter]
        return named

    def summary(self) -> dict[str, Any]:
        """What `inspect` shows, JSON-able."""
        return {
            "rounds": self.rounds,
            "questions": self.questions,
            "answers": {"learnt": self.learnt, "ignored": self.ignored, "undone": self.undone, "expired": self.expired},
            "query_rate": self.questions / self.rounds if self.rounds else None,
            "first_preferred": self.first / self.learnt if self.learnt else None,
            "repeated_questions": {
                "answers": self.repeated,
                "agreement": self.agreed / self.repeated if self.repeated else None,
                "regret_estimate": self.regret / self.repeated if self.repeated else None,
            },
            "planted": {"answers": self.planted, "agreement": _share(self.planted_agreed, self.planted)},
            "planted_between": {"answers": self.between, "agreement": _share(self.between_agreed, self.between)},
            "seconds_per_answer": self.seconds / self.timed if self.timed else None,
            "flags": self.flags,
            **({"settled": self.settled} if self.settled else {}),
            **({"votes": self.votes} if self.votes else {}),
            "quarantined": {"rows": self.quarantined, "first": self.reasons},
            "voters": self.voters,
            "people": {name: _person(count, self.people.get(name)) for name, count in self.voters.items()},
            "measured": [{"answers": row[0], "uas": row[1], "sentences": row[2]} for row in self.history],
            "curve": {"width": self.width, "bins": self.curve},
            "recent": self.recent[::-1],
        }


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _person(answers: int, known: Person | None) -> dict[str, Any]:
    person = known or Person()
    return {
        "answers": answers,
        "seconds_per_answer": _share(person.seconds, person.timed),
        "agreement": _share(person.same, person.again),
        "agreement_with_others": _share(person.shared, person.between),
    }


def _joined(a: Bin, b: Bin) -> Bin:
    return Bin(a.rounds + b.rounds, a.questions + b.questions, a.learnt + b.learnt, a.first + b.first)
