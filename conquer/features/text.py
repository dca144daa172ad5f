"""Texts to tokens as the paper normalises them: abbreviations expanded, HTML removed, emoticons as signs.

A change of tokens must increment `featurizer.VERSION` and the study's `PROTOCOL`.
"""

import functools
import html
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MARKS = {"link": "🔗", "dots": "…"}
_MOUTHS = {**dict.fromkeys(")]", "🙂"), **dict.fromkeys("([", "🙁"), **dict.fromkeys("/\\|", "😕")}
_MOUTHS |= {"d": "😀", "p": "😛", "o": "😮"}
_FACES = {"(:": "🙂", "(-:": "🙂", "^^": "🙂", "^_^": "🙂", "-_-": "😕", "<3": "❤", "</3": "💔"}

_SHORT_FORMS = """
can't: can not, cant: can not, cannot: can not, won't: will not, wont: will not, shan't: shall not, ain't: is not,
aint: is not, let's: let us, gonna: going to, wanna: want to, gotta: got to, gimme: give me, lemme: let me,
kinda: kind of, sorta: sort of, im: i am, ive: i have, youre: you are, youve: you have, theyre: they are,
theyve: they have, thats: that is, whats: what is, theres: there is,
w/: with, w/o: without, b/c: because, n/a: not available, cuz: because, bcoz: because, bcz: because, u: you, ur: your,
r: are, plz: please, pls: please, thx: thanks, thnx: thanks, tks: thanks, ppl: people, btw: by the way,
imo: in my opinion, imho: in my humble opinion, asap: as soon as possible, aka: also known as,
fyi: for your information, idk: do not know, omg: oh my god, tho: though, thru: through, abt: about, qty: quantity,
approx: approximately, vs: versus, etc: et cetera, govt: government, dept: department, hrs: hours, mins: minutes,
yrs: years
"""
_NEGATED = re.findall(r"\w+", "do does did is are was were has have had could would should must need might")
# After these words 's means "is"; after any other it marks a possessive and is dropped.
_WITH_IS = re.findall(r"\w+", "it he she that this there here what where who how when why everything nothing something")

ENDINGS = {"s": "", "t": "not", "m": "am", "d": "would", "ve": "have", "ll": "will", "re": "are"}
"""What follows an apostrophe, and the word it is short for."""

ABBREVIATIONS: dict[str, str] = {
    **dict(pair.strip().split(": ") for pair in _SHORT_FORMS.split(",")),
    **{f"{word}nt": f"{word} not" for word in _NEGATED},
    **{f"{word}'s": f"{word} is" for word in _WITH_IS},
}
"""Short forms and the words they abbreviate, never more words than letters: "don't", "dont" and "do not" are equal."""

_CODES = 0x110000
_ASSIGNED = 0x20000
"""Above this code point there are only ideographs, variation selectors and private use."""
_UNSPACED = ("3041-30ff", "31f0-31ff", "3400-4dbf", "4e00-9fff", "f900-faff", "20000-3ffff")
"""Chinese characters and Japanese syllables, written without spaces: each is a token."""

# A bounded, closed form only: `html.unescape` raises on a number of thousands of digits.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_QUOTES = re.compile("[\u2018\u2019\u02bc\u00b4\uff07]")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff\U000e0020-\U000e01ef]")
"""Joiners, variation selectors and skin tones, which change only the appearance of a sign."""
_LONGEST_STACK = 30
_SUSPECT = re.compile(f"[^\\x00-\u02ff]{{{_LONGEST_STACK}}}")
_TAG = re.compile(r"<(?:/?[a-z]|[!?])[^<>]*>")
"""An HTML tag or comment; the only token with white space in it."""
_BREAK, _WORD, _ALONE = range(3)
"""What a code point does: it ends a word, is part of one, or is a token by itself."""


def _classes(size: int) -> NDArray[np.uint8]:
    """The class of each of the first `size` code points: _BREAK, _WORD or _ALONE."""
    table = np.where(np.strings.isalnum(np.arange(size, dtype=np.uint32).view("U1")), _WORD, _BREAK)
    for code in range(0x80, min(size, _ASSIGNED)):
        category = unicodedata.category(chr(code))
        if category[0] == "M":
            table[code] = _WORD
        elif category == "So":
            table[code] = _ALONE
    for first, last in (span.split("-") for span in _UNSPACED):
        part = table[int(first, 16) : int(last, 16) + 1]
        part[part == _WORD] = _ALONE
    return table.astype(np.uint8)


def _span(codes: NDArray[np.bool_]) -> str:
    """The code points that are true, as the inside of a regular expression's brackets."""
    edges = np.flatnonzero(np.diff(codes.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    return "".join(f"\\U{first:08x}-\\U{last - 1:08x}" for first, last in edges)


@functools.cache
def _stacks() -> re.Pattern[str]:
    """Runs of more combining marks than any language has."""
    marks = np.zeros(_CODES, dtype=bool)
    for code in range(0x80, _ASSIGNED):
        marks[code] = all(map(unicodedata.combining, unicodedata.normalize("NFKD", chr(code))))
    return re.compile(f"([{_span(marks)}]{{{_LONGEST_STACK}}})[{_span(marks)}]+")


def prepared(text: str) -> str:
    """The text with entities resolved, in Unicode's compatibility form, in lower case.

    >>> prepared("Caf&eacute; &amp; BAR’s ﬁne…")
    "café & bar's fine..."
    """
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    if not text.isascii():
        # Normalising a run of n marks takes n * n steps, so a hostile text could block the process for hours.
        if _SUSPECT.search(text):
            text = _stacks().sub(r"\1", text)
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", _QUOTES.sub("'", text)))
    return text.lower()


@functools.cache
def _scanner(size: int) -> re.Pattern[str]:
    """The tokens of a chunk whose code points are below `size`. The table of all code points takes 0.2 s to build."""
    kinds = _classes(size)
    word, signs = _span(kinds == _WORD), _span(kinds == _ALONE)
    alone = f"[{signs}]" if signs else "(?!)"  # ASCII has none
    slashed = "|".join(re.escape(short) for short in ABBREVIATIONS if "/" in short[:-1])
    started = "|".join(re.escape(short) for short in ABBREVIATIONS if short.endswith("/"))
    return re.compile(
        rf"""(?P<link>(?:https?://|ftp://|www\.)[^<>"]+)
        |(?P<dots>\.\.+)
        |(?P<face>(?P<eyes>[:;=])[-']?(?P<mouth>[)\](\[\\|]|/(?!/)|[dpo](?![{word}]))|\(-?:|\^_?\^|-_-|</?3(?![{word}]))
        |(?P<short>(?:{slashed})(?![{word}])|(?:{started}))
        |(?P<head>[{word}]+)(?:'(?P<ending>{"|".join(ENDINGS)})(?![{word}]))?
        |(?P<alone>{alone})""",
        re.VERBOSE,
    )


def _expanded(word: str) -> list[str]:
    return ABBREVIATIONS.get(word, word).split(" ")


def _words(head: str, ending: str | None) -> list[str]:
    """The words of one written word, `ending` being what follows its apostrophe."""
    if ending is None:
        return _expanded(head)
    if f"{head}'{ending}" in ABBREVIATIONS:
        return _expanded(f"{head}'{ending}")
    if ending == "s":
        return _expanded(head)
    if ending == "t" and not (head.endswith("n") and len(head) > 2):
        return [*_expanded(head), "t"]
    return [*_expanded(head[:-1] if ending == "t" else head), ENDINGS[ending]]


def _face(match: re.Match[str]) -> str:
    if match["eyes"] == ";" and match["mouth"] in (")", "]"):
        return "😉"
    return _MOUTHS[match["mouth"]] if match["eyes"] else _FACES[match[0]]


def chunks(text: str) -> list[str]:
    """The pieces of a prepared text between white space and HTML tags.

    >>> chunks("It's <b>GOOD</b>, really!")
    ["it's", 'good', ',', 'really!']
    """
    text = prepared(text)
    return (_TAG.sub(" ", text) if "<" in text else text).split()


def chunk_tokens(chunk: str) -> list[str]:
    """The tokens of one chunk, never more than it has code points.

    >>> chunk_tokens("don't:-)")
    ['do', 'not', '🙂']
    """
    found: list[str] = []
    for match in _scanner(128 if chunk.isascii() else _CODES).finditer(chunk):
        kind = match.lastgroup
        if kind in ("head", "ending"):
            found.extend(_words(match["head"], match["ending"]))
        elif kind == "short":
            found.extend(_expanded(match[0]))
        elif kind in _MARKS:
            found.append(_MARKS[kind])
        else:
            found.append(match[0] if kind == "alone" else _face(match))
    return found


def tokens(text: str) -> list[str]:
    """The words of a text in lower case, abbreviations expanded, HTML removed; signs for emoticons, links, ellipses.

    Signs and emoji, Chinese characters and Japanese syllables are tokens of their own. Never raises on a str.

    >>> tokens("I can't say <b>how</b> GOOD it's... see http://x.org :-)")
    ['i', 'can', 'not', 'say', 'how', 'good', 'it', 'is', '…', 'see', '🔗', '🙂']
    """
    return [token for chunk in chunks(text) for token in chunk_tokens(chunk)]


def ngrams(words: Sequence[str], low: int = 1, high: int = 2) -> list[str]:
    """All runs of `low` to `high` words, in order of their first word.

    >>> ngrams(["not", "so", "good"])
    ['not', 'not so', 'so', 'so good', 'good']
    """
    runs = []
    for start in range(len(words)):
        runs += [" ".join(words[start : start + n]) for n in range(low, high + 1) if start + n <= len(words)]
    return runs
