"""From code points to token keys in one pass: the compiled twin of the scanner in `features.text`."""

import numpy as np

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.text.hashing import EMPTY, fold

BREAK, SPACE, WORD, ALONE = range(4)
"""What a code point is: it ends a word, does so as white space, is part of one, or is a token by itself."""

_ONE = np.uint64(1)
_LESS, _MORE, _DOT, _SLASH, _COLON, _QUOTE, _APOSTROPHE, _HYPHEN, _UNDERSCORE = (ord(c) for c in "<>./:\"'-_")
_A, _D, _E, _F, _H, _L, _M, _N, _O, _P, _R, _S, _T, _V, _W, _Z = (ord(c) for c in "adefhlmnoprstvwz")
_SEMICOLON, _EQUALS, _CARET, _THREE, _EXCLAMATION, _QUESTION, _BACKSLASH, _BAR = (ord(c) for c in ";=^3!?\\|")
_OPEN, _CLOSE, _OPEN_SQUARE, _CLOSE_SQUARE = (ord(c) for c in "()[]")

SMILE, FROWN, WINK, LAUGH, TONGUE, SURPRISE, WRY, HEART, BROKEN, LINK, DOTS = (ord(c) for c in "🙂🙁😉😀😛😮😕❤💔🔗…")
"""The marks that stand for emoticons, links and ellipses: the signs people type today, so both are one feature."""


LETTER_T = 7
"""Where `endings` holds the key of a plain t, after the seven words of `ending`: a 't that negates nothing."""


@part
def at(codes, i, end):
    return np.int64(codes[i]) if i < end else np.int64(0)


@part
def word_at(codes, classes, i, end):
    return i < end and classes[codes[i]] == WORD


@part
def link_end(codes, classes, i, end):
    """Where the link that begins with the h, w or f at i ends; i when none does."""
    j = i
    if at(codes, i, end) == _W:
        if at(codes, i + 1, end) == _W and at(codes, i + 2, end) == _W and at(codes, i + 3, end) == _DOT:
            j = i + 4
    else:
        if at(codes, i, end) == _H and at(codes, i + 1, end) == _T and at(codes, i + 2, end) == _T:
            j = i + 4 if at(codes, i + 3, end) == _P else i
            if j > i and at(codes, j, end) == _S:
                j += 1
        elif at(codes, i, end) == _F and at(codes, i + 1, end) == _T and at(codes, i + 2, end) == _P:
            j = i + 3
        if j > i:
            if at(codes, j, end) != _COLON or at(codes, j + 1, end) != _SLASH or at(codes, j + 2, end) != _SLASH:
                return i
            j += 3
    if j == i:
        return i
    start = j
    while j < end and classes[codes[j]] != SPACE and codes[j] != _LESS and codes[j] != _MORE and codes[j] != _QUOTE:
        j += 1
    return j if j > start else i


@part
def tag_end(codes, i, end):
    """Where the HTML tag or comment whose < is at i ends; i when it is no tag."""
    j = i + 1
    if at(codes, j, end) == _SLASH:
        j += 1
        if not _A <= at(codes, j, end) <= _Z:
            return i
    elif not (_A <= at(codes, j, end) <= _Z or at(codes, j, end) == _EXCLAMATION or at(codes, j, end) == _QUESTION):
        return i
    while j < end and codes[j] != _LESS and codes[j] != _MORE:
        j += 1
    return j + 1 if at(codes, j, end) == _MORE else i


@part
def face(codes, classes, i, end):
    """(mark, end) of the emoticon whose eyes are at i; mark 0 when it is none."""
    wink = codes[i] == _SEMICOLON
    j = i + 1
    if at(codes, j, end) == _HYPHEN or at(codes, j, end) == _APOSTROPHE:
        j += 1
    mouth = at(codes, j, end)
    j += 1
    if mouth in (_CLOSE, _CLOSE_SQUARE):
        return (WINK if wink else SMILE), j
    if mouth in (_OPEN, _OPEN_SQUARE):
        return FROWN, j
    if mouth in (_BACKSLASH, _BAR) or (mouth == _SLASH and at(codes, j, end) != _SLASH):
        return WRY, j
    if not word_at(codes, classes, j, end):
        if mouth == _D:
            return LAUGH, j
        if mouth == _P:
            return TONGUE, j
        if mouth == _O:
            return SURPRISE, j
    return 0, i


@part
def mark(codes, classes, i, end):
    """(mark, end) of what begins with the sign at i; mark 0: nothing to note before `end`, which is past i."""
    code = np.int64(codes[i])
    if code == _DOT:
        j = i + 1
        while at(codes, j, end) == _DOT:
            j += 1
        return (DOTS if j > i + 1 else 0), j
    if code in (_COLON, _SEMICOLON, _EQUALS):
        sign, j = face(codes, classes, i, end)
        return sign, max(j, i + 1)
    if code == _LESS:
        if at(codes, i + 1, end) == _THREE and not word_at(codes, classes, i + 2, end):
            return HEART, i + 2
        if at(codes, i + 1, end) == _SLASH and at(codes, i + 2, end) == _THREE:
            if not word_at(codes, classes, i + 3, end):
                return BROKEN, i + 3
            return 0, i + 1
        return 0, max(tag_end(codes, i, end), i + 1)
    if code == _OPEN:
        j = i + 2 if at(codes, i + 1, end) == _HYPHEN else i + 1
        if at(codes, j, end) == _COLON:
            return SMILE, j + 1
    elif code == _CARET:
        j = i + 2 if at(codes, i + 1, end) == _UNDERSCORE else i + 1
        if at(codes, j, end) == _CARET:
            return SMILE, j + 1
    elif code == _HYPHEN and at(codes, i + 1, end) == _UNDERSCORE and at(codes, i + 2, end) == _HYPHEN:
        return WRY, i + 3
    return 0, i + 1


@part
def home(lexicon, key):
    """The slot where the search for a key begins. Slots hold key, number of words, words; key 0 is a free slot."""
    return (key >> np.uint64(40)) & np.uint64(lexicon.shape[0] - 1)


@part
def find(lexicon, key):
    """The slot of an abbreviation's key, or -1."""
    slot = home(lexicon, key)
    while lexicon[slot, 0] != key:
        if lexicon[slot, 0] == 0:
            return -1
        slot = (slot + _ONE) & np.uint64(lexicon.shape[0] - 1)
    return np.int64(slot)


@part
def expand(lexicon, key, keys, count):
    """Write the token, or the words it is short for; returns the number of tokens so far."""
    slot = find(lexicon, key)
    if slot < 0:
        keys[count] = key
        return count + 1
    words = np.int64(lexicon[slot, 1])
    for j in range(words):
        keys[count + j] = lexicon[slot, 2 + j]
    return count + words


@part
def ending(codes, classes, i, end):
    """(number, end) of the contracted ending after the apostrophe at i: 's 't 'm 'd 've 'll 're are 0 to 6, none -1."""
    one, two = at(codes, i + 1, end), at(codes, i + 2, end)
    if not word_at(codes, classes, i + 2, end):
        number = 0 if one == _S else 1 if one == _T else 2 if one == _M else 3 if one == _D else -1
        return number, i + 2
    if not word_at(codes, classes, i + 3, end):
        if one in (_V, _R) and two == _E:
            return (4 if one == _V else 6), i + 3
        if one == _L and two == _L:
            return 5, i + 3
    return -1, i


@part
def slashed(codes, classes, lexicon, key, i, end, keys, count):
    """(end, count) after an abbreviation such as w/o or w/ whose slash is at i; end i when it is none."""
    short = fold(key, codes[i])
    if word_at(codes, classes, i + 1, end) and not word_at(codes, classes, i + 2, end):
        whole = fold(short, codes[i + 1])
        if find(lexicon, whole) >= 0:
            return i + 2, expand(lexicon, whole, keys, count)
    if find(lexicon, short) >= 0:
        return i + 1, expand(lexicon, short, keys, count)
    return i, count


@part
def contracted(codes, classes, lexicon, endings, key, shorter, i, j, end, keys, count):
    """(end, count) after a word at [i, j) that an apostrophe or a slash follows: its tokens are written expanded."""
    if codes[j] == _SLASH:
        k, more = slashed(codes, classes, lexicon, key, j, end, keys, count)
        if k > j:
            return k, more
    else:
        number, k = ending(codes, classes, j, end)
        if number >= 0:
            whole = key
            for m in range(j, k):
                whole = fold(whole, codes[m])
            if find(lexicon, whole) >= 0:
                return k, expand(lexicon, whole, keys, count)
            if number == 0:
                return k, expand(lexicon, key, keys, count)
            if number == 1:
                if codes[j - 1] == _N and j - i > 2:
                    key = shorter
                else:
                    number = LETTER_T
            count = expand(lexicon, key, keys, count)
            keys[count] = endings[number]
            return k, count + 1
    return j, expand(lexicon, key, keys, count)


@sized(lambda codes, *_: 10 * codes.size)
def tokenise(codes, ends, classes, lexicon, endings, keys, key_ends):
    """Write the keys of every text's tokens; text i ends before ends[i], its tokens before key_ends[i].

    A text never has more tokens than code points: no abbreviation is longer in words than in letters.
    """
    # What is common stands here, what is rare (links, apostrophes, abbreviations, signs) is called: numba counts
    # references at every call, which for every word would cost more than reading it. The counters are typed from the
    # start, or each function is compiled a second time for the literal 0.
    count, i = np.int64(0), np.int64(0)
    for text in range(ends.size):
        end = ends[text]
        while i < end:
            kind = classes[codes[i]]
            if kind == WORD:
                first, j = codes[i], i
                if first in (_H, _W, _F):
                    j = link_end(codes, classes, i, end)
                if j > i:
                    keys[count] = fold(EMPTY, LINK)
                    count += 1
                    i = j
                else:
                    key, shorter = EMPTY, EMPTY
                    while j < end and classes[codes[j]] == WORD:
                        shorter = key
                        key = fold(key, codes[j])
                        j += 1
                    after = at(codes, j, end)
                    if after == _APOSTROPHE or (after == _SLASH and j == i + 1):
                        i, count = contracted(codes, classes, lexicon, endings, key, shorter, i, j, end, keys, count)
                        continue
                    i = j
                    if lexicon[home(lexicon, key), 0] == 0:
                        keys[count] = key
                        count += 1
                    else:
                        count = expand(lexicon, key, keys, count)
            elif kind == ALONE:
                keys[count] = fold(EMPTY, codes[i])
                count += 1
                i += 1
            elif kind == SPACE:
                i += 1
            else:
                sign, i = mark(codes, classes, i, end)
                if sign:
                    keys[count] = fold(EMPTY, sign)
                    count += 1
        key_ends[text] = count
