"""The paper's domains: its 33 names, sizes that agree with what its table gives away, and how that is solved."""

import numpy as np
import pytest

from conquer.data import paper, splits
from conquer.data.paper import granularity

NAMES = (
    "android, arts, automotive, baby products, beauty, books, camera, cell phones, clothing, computers, electronics, "
    "food, garden & pets, health, home, industrial, jewelry, kindle, kitchen, magazines, movies & TV, MP3, music, "
    "musical instruments, office, patio, shoes, software, sports, toys, video games, videos, watches"
)


def test_the_names_are_the_papers() -> None:
    assert ", ".join(paper.DOMAINS) == NAMES
    assert len(paper.DOMAINS) == 33


def test_runs_are_as_long_as_the_table_says() -> None:
    """A split of the solved domains leaves T training reviews, as nearly as balanced stars allow."""
    plan = paper.sizes()
    assert sum(plan.values()) == paper.LARGEST == 341_400
    for name, rounds in paper.SOLVED.items():
        stars = np.arange(plan[name]) % 5 + 1.0
        held = splits.development(stars, np.arange(stars.size, dtype=np.uint64), 0.15)
        parts = splits.repetition(stars.size, held, 0, 0, name, 0.10)
        assert abs(parts.training.size - rounds) <= 1


@pytest.mark.parametrize("total", [165, 170, 5_000, 8_250, 24_000, 100_000, 341_395])
def test_smaller_studies_have_all_domains(total: int) -> None:
    plan, full = paper.sizes(total), paper.sizes()
    assert sum(plan.values()) == total
    assert all(size % 5 == 0 and 0 < size <= full[name] for name, size in plan.items())
    least = total // 5 // 99 * 5
    assert all(size >= min(least, full[name]) for name, size in plan.items())
    order = sorted(plan, key=full.__getitem__)
    assert [plan[name] for name in order] == sorted(plan.values())


@pytest.mark.parametrize("rounds", [379, 469, 1009])
def test_granularity_finds_the_rounds(rounds: int) -> None:
    """Eight printed percentages of T are enough to find it, and what does not fit is left out."""
    silent = np.random.default_rng(rounds).integers(1, rounds // 12, 8)
    printed = np.round(100.0 * silent / rounds, 2).tolist()
    found = granularity(printed, digits=2)
    assert found[0] == rounds
    for T in range(1, rounds + 50):
        multiples = np.round(100.0 * np.arange(T + 1) / T, 2)
        assert (T in found) == all(np.abs(multiples - value).min() < 1e-9 for value in printed)


def test_one_percentage_says_little() -> None:
    """The table's largest rate alone fits many T; neither solved domain is among them."""
    found = granularity([8.27], digits=2)
    assert len(found) > 100
    assert not set(paper.SOLVED.values()) & set(found)


@pytest.mark.parametrize("total", [341_405, 160, 171])
def test_refused_totals(total: int) -> None:
    with pytest.raises(ValueError, match=f"multiple of 5 in .165, 341400., got {total}"):
        paper.sizes(total)


def test_refused_percentages() -> None:
    for wrong in ([], [101.0], [-1.0], [float("nan")]):
        with pytest.raises(ValueError, match="percentages must be"):
            granularity(wrong, digits=2)
