"""The promises about fits of crowds, on the real votes where they are."""

import pytest

from benchmarks.arguments import Topic
from benchmarks.crowds import ARENA, fragile, planted, style, unseen, with_answers
from benchmarks.votes import ARGUMENTS
from conquer.fitting.warm_start import fit


@pytest.fixture
def votes(shared_data):
    folder = shared_data / "votes"
    if not (folder / ARENA).is_file():
        pytest.skip(f"no votes in {folder}")
    return folder


@pytest.mark.timeout(600)
def test_a_fit_of_texts_predicts_unseen_topics_by_its_defaults(votes):
    files = sorted((votes / ARGUMENTS).glob("*.csv*"))
    topics = [Topic(path) for path in files]
    right = unseen(files, topics)
    assert sum(right) / sum(topic.pairs.shape[1] for topic in topics) >= 0.78


def test_what_holds_the_arena_up_is_found_within_a_second_and_adds_up(votes):
    arena, _ = fragile(votes)
    assert arena[1] == "26,919"
    assert 0 < int(arena[2]) < 300
    assert float(arena[5]) < 1
    assert float(arena[6]) < 1
    assert arena[7] == "yes"


def test_the_left_wins_more_often_in_llmfao_and_lists_less(votes):
    rows = with_answers(votes)
    assert len(rows) == 8931
    weights, moved = style(votes)
    (_, lists, of_lists), (_, side, of_side) = weights[1:]
    assert float(side) > 3 * float(of_side)
    assert float(lists) < -3 * float(of_lists)
    assert len(moved) == 10


def test_a_planted_crowd_is_the_same_again():
    one, two = (planted(7, 0.5, 20, False) for _ in range(2))
    assert one[0] == two[0]
    assert fit(one[0]).learner.answers == 2000
