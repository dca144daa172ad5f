"""Which column of a table holds what: one table of synonyms for reviews, items and votes.

Names are compared without case, spaces and punctuation: `Review Text` and `review/text` are both reviewtext. Where a
table has several synonyms, the first one listed here counts.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

# Reviews and items
TEXT = ("text", "reviewtext", "reviewstext", "reviewbody", "reviewcontent", "content", "body", "review", "comment")
STARS = ("stars", "overall", "rating", "starrating", "reviewrating", "reviewsrating", "reviewscore", "score")
RATING = (*STARS, "mean", "ratings")
ID = ("id",)
ITEM_ID = (*ID, "item", "itemid", "name", "key", "model")
"""The ids of items, in a file that must have them."""
FEATURES = ("features",)
VECTOR = ("vector", "embedding")
_PROMPT = ("prompt", "context", "question")
PROMPT = (*_PROMPT, "group")
"""What an item answers; items with the same prompt are compared with each other."""

# Votes
_SIDES = """
left/right modela/modelb modelx/modely model1/model2 modelleft/modelright itema/itemb item1/item2 first/second
optiona/optionb option1/option2 playera/playerb player1/player2 generator1/generator2 a/b a1/a2 responsea/responseb
response1/response2 response0/response1 answera/answerb answer1/answer2 outputa/outputb output1/output2 texta/textb
text1/text2
"""
SIDES = tuple((first, second) for first, _, second in (pair.partition("/") for pair in _SIDES.split()))
"""Pairs of columns of which another column names the winner."""
_DECIDED = """
chosen/rejected winner/loser preferred/rejected better/worse chosen/notchosen chosen/unchosen selected/notselected
preferred/notpreferred winning/losing
"""
DECIDED = tuple((won, lost) for won, _, lost in (pair.partition("/") for pair in _DECIDED.split()))
"""Pairs of words for the winner and the loser: columns are called so, or both have more around it (winner_name)."""
_AROUND = ("name", "model", "item", "player", "candidate", "text", "response", "id")
"""What is around these words in the columns that are taken where several pairs differ in it."""
SHOWN_SIDES = ("left", "modelleft")
"""First columns that say which item was on the left-hand side."""
TEXT_WORDS = ("response", "answer", "output", "text")
"""Words in the names of columns that usually hold texts."""
TURN = "turn"
"""A column that distinguishes questions together with the question's id."""
ONE_HOT = ("winnermodela", "winnermodelb", "winnertie")
WINNER = ("winner", "label", "choice", "vote", "result", "outcome", "verdict", "preferred", "better", "judgment")
SIGNED = ("answer", "preference", "value")
"""Columns of numbers from +1, the first won, to -1, the second won."""
_VOTERS = ("voter", "worker", "judge", "annotator", "rater", "labeler", "evaluator", "assessor", "user", "judgename")
VOTER = tuple(f"{name}{end}" for name in _VOTERS for end in ("", "id"))

Role = Literal["left", "voter", "kind", "context", "question", "count", "weight", "strength"]
VOTE_DETAILS: dict[Role, tuple[str, ...]] = {
    "left": ("shownleft",),
    "voter": VOTER,
    "kind": ("kind", "voterkind", "votertype", "judgetype"),
    "context": (*_PROMPT, "instruction", "query", "topic", "input"),
    "question": ("questionid", "eventid", "battleid", "conversationid", "promptid", "taskid"),
    "count": ("votes", "count", "times"),
    "weight": ("weight", "rho", "reliability"),
    "strength": ("strength", "margin"),
}
"""What a file may say of a vote besides the two items and the winner.

`left` is "first" or "second"; `question` distinguishes questions about the same pair.
"""
ROLES = ("first", "second", "winner", "loser", *get_args(Role))
"""The keys of `columns=`."""
_LONGEST_CACHED = 100


def plain(name: str) -> str:
    """The form in which names are compared.

    >>> plain("Review Text"), plain("reviewText"), plain("review/text")
    ('reviewtext', 'reviewtext', 'reviewtext')
    """
    # Long names are not cached: files come from strangers, and the cache is bounded in bytes as well as in entries.
    return _cached(name) if len(name) <= _LONGEST_CACHED else _plain(name)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


_cached = lru_cache(maxsize=4096)(_plain)


def by_plain_name(names: Iterable[str]) -> dict[str, str]:
    """{plain name: name}; the first of two equal ones counts."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(plain(name), name)
    return found


def columns(names: Iterable[str], synonyms: tuple[str, ...], named: str | None = None) -> list[str]:
    """All columns that hold what is wanted, the best first: the one called `named`, or else every synonym.

    >>> columns(["Id", "Review Text", "body"], TEXT), columns(["Id", "Opinion"], TEXT, "opinion")
    (['Review Text', 'body'], ['Opinion'])
    """
    listed = list(names)
    if named is not None:
        if named in listed:
            return [named]
        synonyms = (plain(named),)
    return [name for each in synonyms for name in listed if plain(name) == each]


def column(names: Iterable[str], synonyms: tuple[str, ...], named: str | None = None) -> str | None:
    """The first of `columns`, or None."""
    return next(iter(columns(names, synonyms, named)), None)


@dataclass(frozen=True, slots=True)
class VoteColumns:
    """The columns of a file of votes by their role; several may hold the `question`.

    Without `winner` the first item has won, unless `one_hot` names three columns of zeros and ones. `signed`: the
    winner is a number from +1 to -1.
    """

    first: str
    second: str
    winner: str | None = None
    voter: str | None = None
    kind: str | None = None
    context: str | None = None
    question: tuple[str, ...] | None = None
    count: str | None = None
    weight: str | None = None
    strength: str | None = None
    left: str | None = None
    one_hot: tuple[str, str, str] | None = None
    signed: bool = False

    @property
    def shown_left(self) -> bool:
        """Whether the first item was on the left-hand side."""
        return plain(self.first) in SHOWN_SIDES

    @property
    def may_be_texts(self) -> bool:
        """Whether the names of the two columns suggest texts."""
        return any(word in plain(self.first) for word in TEXT_WORDS)

    def __str__(self) -> str:
        """In words.

        >>> str(VoteColumns("left", "right", "winner", voter="judge"))
        "items 'left' and 'right', winner 'winner', voter 'judge'"
        """
        outcome = f"items {self.first!r} and {self.second!r}"
        if self.winner is None and self.one_hot is None:
            outcome = f"winner {self.first!r}, loser {self.second!r}"
        rest = {role: getattr(self, role) for role in ("winner", *VOTE_DETAILS)}
        told = [f"{role} {' and '.join(map(repr, [name] if isinstance(name, str) else name))}"
                for role, name in rest.items() if name]  # fmt: skip
        return ", ".join([outcome, *told])


def vote_columns(header: Iterable[str], given: Mapping[str, str] | None = None) -> VoteColumns:
    """The columns of a file of votes; `given` names some of them by role. A ValueError says what is missing.

    >>> vote_columns(["id", "Model A", "Model B", "Winner", "judge"]).voter
    'judge'
    """
    names = by_plain_name(header)
    given = dict(given or {})
    question = given.pop("question", None)
    chosen = _given(names, given)
    rest: dict[str, Any] = {
        role: chosen.get(role) or column(names.values(), usual) for role, usual in VOTE_DETAILS.items()
    }
    rest["question"] = _question(names, rest["question"], question)
    seen = ", ".join(names.values())
    if "loser" in chosen:
        if "winner" not in chosen or "first" in chosen or "second" in chosen:
            raise ValueError("columns= names 'loser' together with 'winner', without 'first' and 'second'")
        return VoteColumns(chosen["winner"], chosen["loser"], **rest)
    if ("first" in chosen) != ("second" in chosen):
        raise ValueError("columns= must name both 'first' and 'second', or neither")
    pair = (chosen["first"], chosen["second"]) if "first" in chosen else _pair(names, SIDES)
    winner = chosen.get("winner") or column(names.values(), (*WINNER, *SIGNED))
    if pair is not None and winner in pair:
        winner = None  # 'a', 'b' and 'answer_a' are not winners
    if pair is not None and winner is None and all(name in names for name in ONE_HOT):
        one, two, tie = (names[name] for name in ONE_HOT)
        return VoteColumns(*pair, one_hot=(one, two, tie), **rest)
    if pair is not None and winner is not None:
        return VoteColumns(*pair, winner, signed=plain(winner) in SIGNED, **rest)
    decided = None if "first" in chosen else _decided(names)
    if decided is not None:
        return VoteColumns(*decided, **rest)
    if pair is not None:
        raise ValueError(f"no column names the winner ({', '.join(WINNER)}) among {seen!r:.300}; columns= names it")
    raise ValueError(
        f"no two columns hold the two items (left and right, model_a and model_b, ...) among {seen!r:.300}; "
        "columns= names them"
    )


def check_extension(before: VoteColumns, after: VoteColumns) -> None:
    """A ValueError where columns that first appear in later rows change the meaning of earlier rows."""
    for role in VoteColumns.__dataclass_fields__:
        old, new = getattr(before, role), getattr(after, role)
        if old != new and (old is not None or role not in VOTE_DETAILS):
            raise ValueError(
                f"the field {new!r:.100} first appears here and would be read instead of {old!r} ({role}): "
                "give all rows the same fields, or name the columns"
            )


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


def _question(names: Mapping[str, str], found: str | None, given: str | None) -> tuple[str, ...] | None:
    """The columns of the question: its id and the turn, or those given, as "id+turn"."""
    if given is not None:
        parts = [given] if plain(given) in names and "+" not in given else given.split("+")
        return tuple(_given(names, {"question": part})["question"] for part in parts)
    both = tuple(name for name in (found, names.get(TURN)) if name is not None)
    return both or None


def _decided(names: Mapping[str, str]) -> tuple[str, str] | None:
    """The columns of the winner and of the loser; a ValueError if several pairs may be meant."""
    exact = _pair(names, DECIDED)
    if exact is not None:
        return exact
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        for won, lost in DECIDED:
            before, won_here, after = name.partition(won)
            if won_here and (other := f"{before}{lost}{after}") in names and other != name:
                found.setdefault(before + after, (names[name], names[other]))
    usual = next((found[around] for around in _AROUND if around in found), None)
    if usual is None and len(found) > 1:
        pairs = "; ".join(f"{one} and {two}" for one, two in found.values())
        raise ValueError(
            f"several columns may hold winner and loser ({pairs:.200}): columns= names 'winner' and 'loser'"
        )
    return usual or next(iter(found.values()), None)


def _pair(names: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    return next(((names[one], names[two]) for one, two in pairs if one in names and two in names), None)
