"""CoNLL-U files: what goes in comes out, and every mistake is named with file, line and sentence."""

import gzip
import lzma

import conllu
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from parsing.treebanks import real_treebank

from conquer.data.treebank import TreebankError, parse, read, text_of, tree_fault, write

WORD = "{0}\t{1}\t_\tNOUN\t_\t_\t{2}\tdep\t_\t_\n"
RICH = """\
# newdoc id = d1
# sent_id = a-1
# a comment without a value
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|Typo=Yes
1\tDo\tdo\tAUX\tVBP\tMood=Ind|Case=Nom,Acc\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod|3.1:dep\t_
3\tgo\tgo\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root\tA=B|C
3.1\t_\t_\t_\t_\t_\t_\t_\t3:conj\tCopyOf=3
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

"""


def test_everything_is_kept():
    (sentence,) = parse(RICH)
    assert text_of([sentence]) == RICH
    assert sentence.id == "a-1"
    assert sentence.forms == ("Do", "n't", "go", ".")
    assert sentence.heads == (3, 3, 0, 3)
    assert sentence.feats[0] == "Mood=Ind|Case=Nom,Acc"


def test_new_heads_change_two_columns_of_words_only():
    (sentence,) = parse(RICH)
    before = RICH.split("\n")
    after = text_of([sentence.with_heads([0, 1, 1, 2])]).split("\n")
    for old, new in zip(before, after, strict=True):
        was, now = old.split("\t"), new.split("\t")
        if was[0] in {"1", "2", "3", "4"}:
            assert now[:6] + now[8:] == was[:6] + was[8:]
        else:
            assert new == old
    assert parse("\n".join(after))[0].heads == (0, 1, 1, 2)
    with pytest.raises(ValueError, match="4 words, got 3 heads"):
        sentence.with_heads([0, 1, 1])


@pytest.mark.parametrize("name", ["plain.conllu", "packed.conllu.gz", "packed.conllu.xz"])
def test_files(tmp_path, name):
    write(tmp_path / name, parse(RICH))
    assert text_of(read(tmp_path / name)) == RICH
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.conllu"
    write(path, parse(RICH))
    with pytest.raises(AttributeError):
        write(path, [*parse(RICH), None])
    assert text_of(read(path)) == RICH
    assert len(list(tmp_path.iterdir())) == 1


def test_endings_and_marks(tmp_path):
    path = tmp_path / "windows.conllu"
    path.write_bytes(b"\xef\xbb\xbf" + RICH.rstrip("\n").replace("\n", "\r\n").encode())
    assert text_of(read(path)) == RICH


def test_a_line_separator_inside_a_word_is_no_line_end():
    text = WORD.format(1, "a\u2028b", 0)
    assert parse(text)[0].forms == ("a\u2028b",)


def tree(*heads: int) -> str:
    return "# sent_id = s7\n" + "".join(WORD.format(j, f"w{j}", head) for j, head in enumerate(heads, start=1))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (tree(2, 1), 2, "cycle"),
        (tree(2, 3, 2, 0), 3, "cycle"),
        (tree(0, 0), 3, "one root, got 2"),
        (tree(3, 0), 2, "another word up to 2 or 0, got '3'"),
        (tree(1, 0), 2, "got '1'"),
        (tree(2, 0).replace("\t0\t", "\t_\t"), 3, "word 2 has no head"),
        (tree(2, 0).replace("\t0\t", "\tzero\t"), 3, "got 'zero'"),
        (tree(2, 0).replace("\t0\t", "\t-1\t"), 3, "got '-1'"),
        (tree(2, 0).replace("\tdep\t_\t_\n", "\tdep\t_\n", 1), 2, "expected 10 columns separated by tabs, got 9"),
        (tree(2, 0).replace("\t", "  "), 2, "10 columns separated by tabs, got 1"),
        (tree(2, 0).replace("NOUN", "", 1), 2, "column 4 is empty"),
        (tree(2, 0).replace("2\tw2", "3\tw2"), 3, "expected word 2, got 3"),
        (tree(2, 0).replace("1\tw1", "0\tw1"), 2, "expected word 1, got 0"),
        (tree(2, 0).replace("1\tw1", "one\tw1"), 2, "bad ID"),
        (tree(2, 0).replace("1\tw1", "2-1\tw1"), 2, "range starting at 1, got 2-1"),
        (tree(2, 0) + "3-4" + "\t_" * 9 + "\n", 2 + 2, "range ends at word 4 of 2"),
        (tree(2, 0) + "2-3" + "\t_" * 9 + "\n", 2 + 2, "range starting at 3"),
        (tree(2, 0) + "7.1" + "\t_" * 9 + "\n", 2 + 2, "empty node 2.x"),
        ("# sent_id = s7\n", 1, "no words"),
    ],
)
def test_mistakes_are_named(tmp_path, text, line, message):
    path = tmp_path / "bad.conllu"
    path.write_text(RICH + text, encoding="utf-8")
    with pytest.raises(TreebankError) as caught:
        read(path)
    assert f"{path}:{line + RICH.count(chr(10))}: sentence s7: " in str(caught.value)
    assert message in str(caught.value)


def test_two_roots_and_missing_heads_where_they_are_allowed():
    assert parse(tree(0, 0), heads="forest")[0].heads == (0, 0)
    assert parse(tree(2, 1), heads="ignore")[0].heads == ()
    with pytest.raises(TreebankError, match="cycle"):
        parse(tree(2, 1), heads="forest")
    with pytest.raises(ValueError, match="heads must be"):
        parse(tree(0), heads="all")


def test_wrong_encoding_and_broken_archives(tmp_path):
    latin = tmp_path / "latin.conllu"
    latin.write_bytes((tree(2, 0) + WORD.format(3, "caf\u00e9", 2)).encode("latin-1"))
    with pytest.raises(TreebankError, match=r"latin.conllu:4: expected UTF-8, got byte 0xe9"):
        read(latin)
    for name, pack in (("cut.conllu.gz", gzip.compress), ("cut.conllu.xz", lzma.compress)):
        (tmp_path / name).write_bytes(pack(tree(0).encode())[:-9])
        with pytest.raises(TreebankError, match="the compressed data is broken or cut short"):
            read(tmp_path / name)
        (tmp_path / name).write_bytes(b"not packed at all")
        with pytest.raises(TreebankError, match="expected 10 columns"):
            read(tmp_path / name)


@settings(max_examples=300, deadline=None)
@given(some.text(alphabet="01234-._\t\n#=ab \u00e9\u2028", max_size=120))
def test_any_text_is_read_or_refused_by_name(text):
    refused = ""
    try:
        sentences = parse(text, "fuzz", heads="ignore")
    except TreebankError as problem:
        refused = str(problem)
    else:
        again = parse(text_of(sentences), heads="ignore")
        assert [s.lines for s in again] == [s.lines for s in sentences]
    assert not refused or refused.startswith("fuzz:")


@settings(max_examples=200, deadline=None)
@given(some.lists(some.integers(0, 6), min_size=1, max_size=6))
def test_tree_fault_is_reachability(heads):
    heads = [head if head <= len(heads) and head != j else 0 for j, head in enumerate(heads, start=1)]
    reached = {0}
    for _ in heads:
        reached |= {j for j, head in enumerate(heads, start=1) if head in reached}
    whole = len(reached) == len(heads) + 1
    assert (tree_fault(heads, several_roots=True) is None) == whole
    assert (tree_fault(heads) is None) == (whole and heads.count(0) == 1)


@pytest.mark.parametrize("name", ["English-EWT", "Gothic-PROIEL", "Afrikaans-AfriBooms"])
def test_real_treebanks_byte_for_byte_and_as_the_conllu_package_reads_them(name):
    path = real_treebank(name, "dev")
    text = lzma.decompress(path.read_bytes()).decode("utf-8")
    sentences = read(path)
    assert text_of(sentences) == text
    for ours, theirs in zip(sentences, conllu.parse(text), strict=True):
        words = [token for token in theirs if isinstance(token["id"], int)]
        assert ours.forms == tuple(token["form"] for token in words)
        assert ours.heads == tuple(token["head"] for token in words)
        assert ours.id == theirs.metadata["sent_id"]
