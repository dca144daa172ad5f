"""Edge features against a transcription of their definition in plain Python, and their promises."""

import numpy as np
import pytest
from parsing.treebanks import conllu, random_treebank

from conquer.data.treebank import parse
from conquer.kernels.parsing import edges as kernel
from conquer.parsing.edges import ATTRIBUTES, GEOMETRIES, SETS, Features, code_of, encode

M32 = 2**32


def mixed(h, code):
    h = (h ^ code) * 0x85EBCA6B % M32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 % M32
    return h ^ (h >> 16)


def step(gap):
    for name, last in enumerate((1, 2, 3, 4, 6, 9, 14, 24), start=1):
        if gap <= last:
            return name
    return 9


def literal_rows(features, sentence):
    """Every edge's cells, template by template, from the words."""
    names = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
    upos = names.split()
    words = [dict.fromkeys(ATTRIBUTES, "<root>")]
    classes = [0]
    for form, lemma, tag, xpos, feats in zip(
        sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats, strict=True
    ):
        low = form.lower()
        words.append(
            {
                "form": low,
                "lemma": low if lemma == "_" else lemma,
                "upos": tag,
                "xpos": tag if xpos == "_" else xpos,
                "feats": feats,
                "suffix": low[-3:],
            }
        )
        classes.append(18 if (tag, form) == ("PUNCT", ",") else upos.index(tag) + 1 if tag in upos else 19)
    n = len(sentence)

    def atoms(text, place, position, h):
        for atom in text.split():
            if atom[0] == place:
                where, attribute = atom.split(".")
                at = position + int(where[1:] or 0)
                h = mixed(h, code_of(attribute, words[at][attribute]) if 0 <= at <= n else (at + 7) % M32)
        return h

    rows = []
    for j in range(1, n + 1):
        for i in [i for i in range(n + 1) if i != j]:
            inside = classes[min(i, j) + 1 : max(i, j)]
            left = int(i < j)
            tags = sum(1 << c for c in set(inside))
            marks = min(inside.count(16) + inside.count(4), 3) * 4 + min(inside.count(18), 3)
            marks = marks * 3 + min(inside.count(5) + inside.count(14), 2)
            marks = marks * 3 + min(inside.count(13), 2)
            same = min(inside.count(classes[i]), 3) * 4 + min(inside.count(classes[j]), 3)
            numbers = {"side": left, "distance": 2 * step(abs(i - j)) + left, "tags": 2 * tags + left}
            numbers |= {"same": 2 * same + left, "marks": 2 * marks + left}
            row, base = [], 0
            for t, (geometry, text) in enumerate(features.templates):
                part = 0
                if geometry != "nothing":
                    part = mixed(0x51ED270B + GEOMETRIES[geometry], numbers[geometry])
                h = atoms(text, "h", i, int(features.table.salt[t])) + atoms(text, "w", j, 0) + part
                bits = 32 - int(features.table.shift[t])
                row.append(base + (h % M32 * 0x9E3779B1 % M32 >> (32 - bits)))
                base += 1 << bits
            rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("name", list(SETS))
def test_rows_are_the_definition(name):
    features = Features(name, bits=12)
    text = conllu(
        ["The", "cat", ",", "it", "sat", "!"], ["DET", "NOUN", "PUNCT", "PRON", "VERB", "odd"], [2, 5, 2, 5, 0, 5]
    )
    for sentence in [*parse(text), *random_treebank(0, 6)]:
        rows = features.rows(sentence)
        n = len(sentence)
        assert len(rows) == n * n
        got = rows.indices.reshape(n * n, features.width)
        assert (got == literal_rows(features, sentence)).all()
        assert np.allclose((rows.dense() ** 2).sum(axis=1), 1.0)
        # A block of its own for every template: cells rise along a row, so no two features meet.
        assert (np.diff(got, axis=1) > 0).all()
        assert got.max() < features.dim


def test_classes_of_the_kernel_are_those_of_the_tags():
    sentence = parse(conllu(["a", ","], ["VERB", "PUNCT"], [0, 1]))[0]
    text = encode([sentence])
    assert text.classes.tolist() == [kernel.ROOT_CLASS, kernel.VERB, kernel.COMMA]
    for tag, expected in (
        ("PUNCT", kernel.PUNCT),
        ("AUX", kernel.AUX),
        ("CCONJ", kernel.CCONJ),
        ("SCONJ", kernel.SCONJ),
    ):
        assert encode(parse(conllu(["a"], [tag], [0]))).classes[1] == expected


def test_settings_travel_and_changes_are_noticed():
    features = Features("tags", bits=10)
    assert Features.from_settings(features.settings()) == features
    with pytest.raises(ValueError, match="trained with feature settings"):
        Features.from_settings({**features.settings(), "templates": "0" * 16})


@pytest.mark.parametrize(("name", "bits"), [("all", 16), ("tags", 3), ("tags", 23), ("tags", 1.5), ("tags", True)])
def test_bad_settings(name, bits):
    with pytest.raises(ValueError, match="must be"):
        Features(name, bits)


def test_too_long_a_sentence_is_named():
    size = 1001
    text = conllu(["w"] * size, ["X"] * size, [0] + [1] * (size - 1), "long-one")
    with pytest.raises(ValueError, match="sentence long-one has 1001 words"):
        encode(parse(text))


@pytest.mark.parametrize("size", range(1, 9))
def test_edges_are_counted_word_by_word_with_heads_ascending(size):
    edges = [(word, head) for word in range(1, size + 1) for head in range(size + 1) if head != word]
    assert len(edges) == size * size
    for number, (word, head) in enumerate(edges):
        assert kernel.edge_of(word, head, size) == number
        assert kernel.ends_of(number, size) == (word, head)
        assert kernel.row_of(word, head) == number % size
        assert kernel.head_of(word, number % size) == head
