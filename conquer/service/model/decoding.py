"""The door for JSON: what is no UTF-8, no JSON or nested too deeply is refused here, whatever it was meant to be."""

import contextlib
import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from conquer.service.errors import Kind, RefusalError, invalid

Value = TypeVar("Value")
_PATTERN = re.compile(r"matching regex (['\"]).*?\1(?= - at |$)", re.DOTALL)


def decoded(decode: Callable[[bytes], Value], raw: bytes, what: str) -> Value:
    """What these bytes hold, by a typed decoder; a RefusalError that says what is wrong with `what`.

    Parts that a decoder leaves as they came (`msgspec.Raw`) are UTF-8 too, so that they can be stored as text.

    >>> decoded(msgspec.json.Decoder(list[int]).decode, b"[1]", "the body")
    [1]
    >>> decoded(msgspec.json.Decoder(msgspec.Raw).decode, b'"\\xff"', "the body")
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: the body is not UTF-8: invalid start byte at byte 1
    """
    try:
        if not raw.isascii():
            raw.decode()
        return decode(raw)
    except msgspec.ValidationError as error:
        raise invalid(f"{what}: {in_words(str(error))}") from None
    except UnicodeDecodeError as error:
        message = f"{what} is not UTF-8: {error.reason} at byte {error.start}"
    except msgspec.DecodeError as error:
        message = f"{what} is not JSON: {error}"
    except RecursionError:
        message = f"{what} is nested too deeply"
    raise RefusalError(Kind.MALFORMED, "malformed", message)


def for_no_body(decode: Callable[[bytes], object] | None) -> bytes:
    """What stands for no body at all: an empty object, where everything in it may be left out."""
    if decode is not None:
        with contextlib.suppress(msgspec.ValidationError):
            decode(b"{}")
            return b"{}"
    return b""


def in_words(message: str) -> str:
    """A refusal of a text by a pattern, in words.

    >>> in_words("Expected `str` matching regex '^[A-Za-z0-9][A-Za-z0-9._-]*(?!\\\\n)$' - at `$.name`")
    'Expected `str` of letters, digits, dots, hyphens or underscores, beginning with a letter or a digit - at `$.name`'
    """

    def words(found: re.Match[str]) -> str:
        if "png|jpg" in found.group():
            return "that is a path beginning with one slash, or the name of an uploaded image"
        if "A-Za-z0-9" in found.group():
            return "of letters, digits, dots, hyphens or underscores, beginning with a letter or a digit"
        return "without control characters, slashes, backslashes, ? and #, and not . or .. alone"

    return _PATTERN.sub(words, message)
