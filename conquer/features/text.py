"""Text normalisation as the paper did it, in plain Python: the reading the compiled scanner must reproduce."""

import functools
import html
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conquer.features.abbreviations import ABBREVIATIONS, ENDINGS
from conquer.kernels.text.scanner import ALONE, BREAK, SPACE, WORD

MARKS = {"link": "🔗", "dots": "…"}
_MOUTHS = {**dict.fromkeys(")]", "🙂"), **dict.fromkeys("([", "🙁"), **dict.fromkeys("/\\|", "😕")}
_MOUTHS |= {"d": "😀", "p": "😛", "o": "😮"}
_FACES = {"(:": "🙂", "(-:": "🙂", "^^": "🙂", "^_^": "🙂", "-_-": "😕", "<3": "❤", "</3": "💔"}

_CODES = 0x110000
_ASSIGNED = 0x20000
"""Above this there are only ideographs, variation selectors and private use."""
_UNSPACED = (
    (0x3041, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""Chinese characters and Japanese syllables: no spaces are written, so each is a token and bigrams join them."""

# A bounded, closed form only: `html.unescape` raises on a number of thousands of digits.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_QUOTES = re.compile("[\u2018\u2019\u02bc\u00b4\uff07]")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff\U000e0020-\U000e01ef]")
"""Joiners, variation selectors and skin tones: they change how a sign looks, not which sign it is."""
_LONGEST_STACK = 30
_SUSPECT = re.compile(f"[^\\x00-\u02ff]{{{_LONGEST_STACK}}}")


@functools.cache
def classes() -> NDArray[np.uint8]:
    """What each of the 1,114,112 code points is to the scanner (BREAK, SPACE, WORD or ALONE)."""
    signs = np.arange(_CODES, dtype=np.uint32).view("U1")
    table = np.where(np.strings.isalnum(signs), WORD, np.where(np.strings.isspace(signs), SPACE, BREAK))
    for code in range(0x80, _ASSIGNED):
        category = unicodedata.category(chr(code))
        if category[0] == "M":
            table[code] = WORD
        elif category == "So":
            table[code] = ALONE
    for first, last in _UNSPACED:
        part = table[first : last + 1]
        part[part == WORD] = ALONE
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
        # Normalising a run of n marks takes n * n steps, so a hostile text could hold the process for hours.
        if _SUSPECT.search(text):
            text = _stacks().sub(r"\1", text)
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", _QUOTES.sub("'", text)))
    return text.lower()


@functools.cache
def _scanner() -> re.Pattern[str]:
    kinds = classes()
    word, alone, space = (_span(kinds == kind) for kind in (WORD, ALONE, SPACE))
    slashed = "|".join(re.escape(short) for short in ABBREVIATIONS if "/" in short[:-1])
    started = "|".join(re.escape(short) for short in ABBREVIATIONS if short.endswith("/"))
    return re.compile(
        rf"""(?P<tag><(?:/?[a-z]|[!?])[^<>]*>)
        |(?P<link>(?:https?://|ftp://|www\.)[^{space}<>"]+)
        |(?P<dots>\.\.+)
        |(?P<face>(?P<eyes>[:;=])[-']?(?P<mouth>[)\](\[\\|]|/(?!/)|[dpo](?![{word}]))|\(-?:|\^_?\^|-_-|</?3(?![{word}]))
        |(?P<short>(?:{slashed})(?![{word}])|(?:{started}))
        |(?P<head>[{word}]+)(?:'(?P<ending>{"|".join(ENDINGS)})(?![{word}]))?
        |(?P<alone>[{alone}])""",
        re.VERBOSE,
    )


def _expanded(word: str) -> list[str]:
    return ABBREVIATIONS.get(word, word).split(" ")


def _words(head: str, ending: str | None) -> list[str]:
    """The words of one written word, `ending` being what follows its apostrophe.

    >>> _words("don", "t"), _words("author", "s"), _words("it", "s"), _words("they", "ve")
    (['do', 'not'], ['author'], ['it', 'is'], ['they', 'have'])
    """
    if ending is None:
        return _expanded(head)
    if f"{head}'{ending}" in ABBREVIATIONS:
        return _expanded(f"{head}'{ending}")
    if ending == "s":
        return _expanded(head)
    if ending == "t" and not (head.endswith("n") and len(head) > 2):
        return [*_expanded(head), "t"]
    return [*_expanded(head[:-1] if ending == "t" else head), ENDINGS[ending]]


def tokens(text: str) -> list[str]:
    """The words of a text in lower case, abbreviations expanded, HTML removed; signs for emoticons, links, ellipses.

    Signs and emoji, Chinese characters and Japanese syllables are tokens of their own. Never raises on a str.

    >>> tokens("I can't say <b>how</b> GOOD it's... see http://x.org :-)")
    ['i', 'can', 'not', 'say', 'how', 'good', 'it', 'is', '…', 'see', '🔗', '🙂']
    """
    found: list[str] = []
    for match in _scanner().finditer(prepared(text)):
        kind = match.lastgroup
        if kind in ("head", "ending"):
            found.extend(_words(match["head"], match["ending"]))
        elif kind == "face":
            found.append("😉" if match["eyes"] == ";" and match["mouth"] in (")", "]") else _face(match))
        elif kind == "short":
            found.extend(_expanded(match[0]))
        elif kind == "alone":
            found.append(match[0])
        elif kind in MARKS:
            found.append(MARKS[kind])
    return found


def _face(match: re.Match[str]) -> str:
    return _MOUTHS[match["mouth"]] if match["eyes"] else _FACES[match[0]]


def normalise(text: str) -> str:
    """The tokens of a text with a space between them.

    >>> normalise("Don&#39;t buy w/o reading :(")
    'do not buy without reading 🙁'
    """
    return " ".join(tokens(text))


def ngrams(words: Sequence[str], low: int = 1, high: int = 2) -> list[str]:
    """All runs of `low` to `high` words, in order of their first word.

    >>> ngrams(["not", "so", "good"])
    ['not', 'not so', 'so', 'so good', 'good']
    """
    runs = []
    for start in range(len(words)):
        runs += [" ".join(words[start : start + n]) for n in range(low, high + 1) if start + n <= len(words)]
    return runs
