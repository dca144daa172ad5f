"""PrefLib's files and their damage."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.data.preflib import OrderError, stream_orders

TEXT = """# FILE NAME: 00001-00000001.toi
# NUMBER ALTERNATIVES: 4
# ALTERNATIVE NAME 1: tea
# ALTERNATIVE NAME 2: coffee
# ALTERNATIVE NAME 3: mate: cold
3: 1,2,{3,4}
2: 2,{1,3}

1: 4
"""


def test_a_file_with_ties_and_gaps():
    names = ["tea", "coffee", "mate: cold", "4"]
    assert list(stream_orders(TEXT.splitlines())) == [
        (6, names, 3, [[0], [1], [2, 3]]),
        (7, names, 2, [[1], [0, 2]]),
        (9, names, 1, [[3]]),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3: 1,2\n", "line 1: '# NUMBER ALTERNATIVES'"),
        ("# NUMBER ALTERNATIVES: 2\nnonsense\n", "line 2: expected"),
        ("# NUMBER ALTERNATIVES: 2\n1: 1,3\n", r"line 2: alternatives must be in \[1, 2\]"),
        ("# NUMBER ALTERNATIVES: 2\n1: 1,1\n", "line 2: an alternative is ranked twice"),
        ("# NUMBER ALTERNATIVES: 1\n", "line 1: alternatives must be in"),
    ],
)
def test_damage_is_located(text, message):
    with pytest.raises(OrderError, match=message):
        list(stream_orders(text.splitlines()))


@given(st.text(max_size=200))
def test_no_text_gets_past_the_reader_but_as_orders(text):
    with suppress(OrderError):
        for _, names, people, groups in stream_orders(["# NUMBER ALTERNATIVES: 3", *text.splitlines()]):
            ranked = [k for group in groups for k in group]
            assert people >= 0
            assert len({*ranked}) == len(ranked)
            assert {*ranked} <= {*range(len(names))}
