import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.features.text import ABBREVIATIONS, chunk_tokens, chunks, ngrams, prepared, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("   \n", ""),
        ("GREAT Food", "great food"),
        ("wait...what.. ok. x", "wait … what … ok x"),
        ("wait…what", "wait … what"),
        ("see http://a.b/c?d=e, or https://x.y and www.z.org!", "see 🔗 or 🔗 and 🔗"),
        ("www. http:// httpx", "www http httpx"),
        ('<a href="http://x.y">link</a>', "link"),
        ("one<br/>two<!-- c -->three<?xml ?>", "one two three"),
        ("in < 3 days, a <2 b> c", "in 3 days a 2 b c"),
        ("a <b never closed", "a b never closed"),
        ("Don&#39;t &amp; won&rsquo;t", "do not will not"),
        ("&lt;br /&gt;x &copy; &nosuch; &#xZZ;", "x © nosuch xzz"),
        (
            "I can't, he's, she'd, we'll, they've, I'm, you're",
            "i can not he is she would we will they have i am you are",
        ),
        ("the author's book, let's go, it isn't", "the author book let us go it is not"),
        ("dont cant didnt", "do not can not did not"),
        ("o'reilly 'quoted' rock'n'roll t't don't've", "o reilly quoted rock n roll t t do not ve"),
        ("w/ milk w/o sugar b/c btw w/out", "with milk without sugar because by the way with out"),
        (":) :-) =) :] (: (-: ^^ ^_^", " ".join("🙂" * 8)),
        (";) ;-]", "😉 😉"),
        (":( :-( :'( ;( :[", " ".join("🙁" * 5)),
        (":D :P :o :/ :-\\ :| -_-", "😀 😛 😮 😕 😕 😕 😕"),
        ("pasta:) pros:poor note:do", "pasta 🙂 pros poor note do"),
        ("<3 </3 <3x", "❤ 💔 3x"),
        ("👍👍🏻 ❤️ great🙂", "👍 👍 ❤ great 🙂"),
        ("naïve café don’t", "naïve café do not"),
        ("cafe\u0301", "café"),
        ("很好吃 とても ﬁne", "很 好 吃 と て も fine"),
        ("हिन्दी में", "हिन्दी में"),
        ("snake_case a-b 3.5", "snake case a b 3 5"),
        ("lone \ud800 surrogate", "lone surrogate"),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert " ".join(tokens(text)) == expected


def test_no_abbreviation_has_more_words_than_letters() -> None:
    assert all(len(words.split(" ")) <= len(short) for short, words in ABBREVIATIONS.items())
    assert all(short == prepared(short) and tokens(words) == words.split(" ") for short, words in ABBREVIATIONS.items())


@given(st.text(st.characters(max_codepoint=127)))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = tokens(text)
    assert tokens(" ".join(once)) == once


@given(st.text(max_size=40))
def test_a_chunk_has_no_more_tokens_than_characters(text: str) -> None:
    for chunk in chunks(text):
        assert len(chunk_tokens(chunk)) <= len(chunk)
        assert tokens(chunk) == chunk_tokens(chunk) or prepared(chunk) != chunk


@given(st.lists(st.sampled_from("abc"), max_size=6), st.integers(1, 3), st.integers(0, 2))
def test_ngrams_are_all_runs(words: list[str], low: int, more: int) -> None:
    runs = {
        " ".join(words[i:j]) for i in range(len(words)) for j in range(i + low, min(i + low + more, len(words)) + 1)
    }
    assert set(ngrams(words, low, low + more)) == runs
