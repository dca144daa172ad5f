"""Whom to believe, on a real crowd: its sides and its doubtful workers are found; and the report is written."""

import numpy as np
import pytest

from conquer.study import voters


@pytest.fixture(scope="module")
def llmfao(shared_data):
    folder = shared_data / "votes" / "llmfao"
    if not folder.is_dir():
        pytest.skip(f"LLMFAO's votes are not at {folder}")
    return voters.read_llmfao(folder)


def test_the_crowds_side_and_its_doubtful_workers_are_found(llmfao):
    crowd, _, names = llmfao
    share, (low, high), decisive = voters.left_share(crowd)
    assert len(crowd) == 8931
    assert decisive == 5460
    assert share == pytest.approx(0.533, abs=5e-4)
    assert 0.5 < low < share < high
    learner = voters.trained(crowd, len(names), believe="voters", voters=128)
    found = {voter.name: voter for voter in learner.voters()}
    assert len(found) == 124
    for worker, left in (("20", 0.70), ("37", 0.74)):
        assert found[worker].left == pytest.approx(left, abs=0.005)
        assert found[worker].left_interval[0] > 0.5
        assert found[worker].side_interval[0] > 0
        assert found[worker].doubtful
    assert sum(voter.doubtful for voter in found.values()) <= 10


def test_a_judge_is_worth_a_few_percent_of_the_crowd(llmfao):
    crowd, judge, names = llmfao
    learner = voters.trained([*crowd, *judge], len(names), believe="people", voters=128)
    # About 6 % by held-out votes; far below the 24 % that its number of votes would be.
    assert 0.02 < learner.worth() / len(crowd) < 0.1


def test_the_report_says_what_was_found(tmp_path, monkeypatch):
    rewards, crowd = voters.simulated(3)
    judge = [(first, second, answer, voters.Source("j", 1, "judge")) for first, second, answer, _ in crowd[:50]]
    monkeypatch.setattr(voters, "read_llmfao", lambda folder: (crowd, judge, [str(k) for k in range(rewards.size)]))
    monkeypatch.setattr(voters, "SIZES", (100, 200))
    voters.run_voters(tmp_path, repetitions=1, seeds=1, out=tmp_path / "voters.md")
    text = (tmp_path / "voters.md").read_text()
    assert "picks the left in 100%" in text
    assert text.count("\n| ") > 6
    assert np.all(voters.simulated_errors(1) < 0.3)
