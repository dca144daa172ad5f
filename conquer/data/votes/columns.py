"""Which column says what: the names that files of votes have, as people and systems spell them.

Names are compared without case, spaces and punctuation: `Model A` and `model_a` are both modela.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conquer.data.columns import plain

SIDES = (
    ("left", "right"),
    ("modela", "modelb"),
    ("modelx", "modely"),
    ("model1", "model2"),
    ("modelleft", "modelright"),
    ("itema", "itemb"),
    ("item1", "item2"),
    ("first", "second"),
    ("optiona", "optionb"),
    ("option1", "option2"),
    ("playera", "playerb"),
    ("player1", "player2"),
    ("generator1", "generator2"),
    ("a", "b"),
    ("a1", "a2"),
    ("responsea", "responseb"),
    ("response1", "response2"),
    ("response0", "response1"),
    ("answera", "answerb"),
    ("answer1", "answer2"),
    ("outputa", "outputb"),
    ("output1", "output2"),
    ("texta", "textb"),
    ("text1", "text2"),
)
"""Two things, of which another column names the winner. Where a file has several, the first of these counts."""
DECIDED = (("chosen", "rejected"), ("winner", "loser"), ("preferred", "rejected"), ("better", "worse"))
"""Two things, of which the first has won."""
SHOWN_SIDES = ("left", "modelleft")
"""First columns that say what was on the left-hand side."""
MAYBE_TEXTS = ("chosen", "a1", "response", "answer", "output", "text")
"""How first columns begin that hold texts; where every one in the first block is a single word, they are ids."""
ONE_HOT = ("winnermodela", "winnermodelb", "winnertie")

WINNER = ("winner", "label", "choice", "vote", "result", "outcome", "verdict", "preferred", "better", "judgment")
SIGNED = ("answer", "preference", "value")
"""Columns of numbers from +1, the first won, to -1, the second won."""
VOTER = ("voter", "worker", "judge", "annotator", "rater", "labeler", "evaluator", "assessor", "user", "judgename")
KIND = ("kind", "voterkind", "votertype", "judgetype")
CONTEXT = ("context", "prompt", "instruction", "question", "query", "topic", "input")
QUESTION = ("questionid", "eventid", "battleid", "conversationid", "promptid", "taskid")
"""Columns that tell questions apart: the same person may answer two of them about the same pair."""
COUNT = ("votes", "count", "times")
WEIGHT = ("weight", "rho", "reliability")
STRENGTH = ("strength", "margin")
LEFT = ("shownleft",)
"""Which of the two was on the left-hand side: first or second."""
_OTHERS = {
    "left": LEFT,
    "voter": VOTER,
    "kind": KIND,
    "context": CONTEXT,
    "question": QUESTION,
    "count": COUNT,
    "weight": WEIGHT,
    "strength": STRENGTH,
}
_USUAL = frozenset(
    (*(name for pair in (*SIDES, *DECIDED) for name in pair), *ONE_HOT, *WINNER, *SIGNED)
    + tuple(name for names in _OTHERS.values() for name in names)
    + tuple(f"{name}id" for name in VOTER)
)
ROLES = ("first", "second", "winner", *_OTHERS)
"""What `columns=` may name."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of a file's columns by what they say. `winner` None: the first has won, unless there are three columns
    of noughts and ones (`one_hot`). `signed`: the winner is a number from +1 to -1."""

    first: str
    second: str
    winner: str | None = None
    voter: str | None = None
    kind: str | None = None
    context: str | None = None
    question: str | None = None
    count: str | None = None
    weight: str | None = None
    strength: str | None = None
    left: str | None = None
    one_hot: tuple[str, str, str] | None = None
    signed: bool = False

    @property
    def shown_left(self) -> bool:
        """Whether the first of the two is known to have been on the left-hand side."""
        return plain(self.first) in SHOWN_SIDES

    @property
    def maybe_texts(self) -> bool:
        """Whether the columns' names say that they hold texts."""
        return plain(self.first).startswith(MAYBE_TEXTS)


def find_columns(header: Iterable[str], given: Mapping[str, str] | None = None) -> Columns:
    """The columns of a header; `given` names some by their role. A ValueError says what is missing.

    >>> find_columns(["id", "Model A", "Model B", "Winner", "judge"]).voter
    'judge'
    """
    names: dict[str, str] = {}
    for name in header:
        names.setdefault(plain(name), name)
    chosen = _given(names, given or {})
    rest: dict[str, Any] = {role: chosen.get(role) or _one(names, usual, role) for role, usual in _OTHERS.items()}
    seen = ", ".join(names.values())
    if ("first" in chosen) != ("second" in chosen):
        raise ValueError("columns= must name both 'first' and 'second', or neither")
    pair = (chosen["first"], chosen["second"]) if "first" in chosen else _pair(names, SIDES)
    winner = chosen.get("winner") or _one(names, (*WINNER, *SIGNED), "winner")
    if pair is not None and winner in pair:
        winner = None  # 'a', 'b' and 'answer_a' are not winners
    if pair is not None and winner is None and all(name in names for name in ONE_HOT):
        one, two, tie = (names[name] for name in ONE_HOT)
        return Columns(*pair, one_hot=(one, two, tie), **rest)
    if pair is not None and winner is not None:
        return Columns(*pair, winner, signed=plain(winner) in SIGNED, **rest)
    decided = _pair(names, DECIDED)
    if decided is not None and "first" not in chosen:
        return Columns(*decided, **rest)
    if pair is not None:
        raise ValueError(f"no column says who won ({', '.join(WINNER)}) among {seen!r:.300}")
    raise ValueError(f"no two columns are two things (left and right, model_a and model_b, ...) among {seen!r:.300}")


def late_names(names: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """{plain name: name} of those that may say something and are not known yet, by their plain names.

    >>> late_names(["left", "Voter", "note"], {"left": "left"})
    {'voter': 'Voter'}
    """
    return {plain(name): name for name in names if plain(name) in _USUAL and plain(name) not in known}


def more_columns(columns: Columns, header: Iterable[str], late: Iterable[str], given: Any = None) -> Columns:
    """The columns of a file in which `late` fields come after its first rows. They may say what nobody said before;
    a ValueError where they would change what the rows before them said.

    >>> more_columns(find_columns(["left", "right", "winner"]), ["left", "right", "winner", "voter"], ["voter"]).voter
    'voter'
    """
    found = find_columns(header, given)
    for role in Columns.__dataclass_fields__:
        before, now = getattr(columns, role), getattr(found, role)
        if before != now and (before is not None or role not in _OTHERS):
            raise ValueError(
                f"the field {', '.join(late)!r:.100} is new here and would be read instead of {before!r} ({role}): "
                "give all rows the same fields, or name the columns"
            )
    return found


def _given(names: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    if unknown := sorted(set(given) - set(ROLES)):
        raise ValueError(f"columns= takes {', '.join(ROLES)}; got {unknown}")
    chosen = {}
    for role, name in given.items():
        found = names.get(plain(name))
        if found is None:
            raise ValueError(f"no column {name!r} for {role!r} among {', '.join(names.values())!r:.300}")
        chosen[role] = found
    return chosen


def _one(names: Mapping[str, str], usual: Iterable[str], role: str) -> str | None:
    """The first of the usual names that is there; a voter may also be a worker_id."""
    endings = ("", "id") if role == "voter" else ("",)
    return next((names[name + end] for name in usual for end in endings if name + end in names), None)


def _pair(names: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    return next(((names[one], names[two]) for one, two in pairs if one in names and two in names), None)
