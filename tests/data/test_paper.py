"""The paper's domains: its 33 names, and sizes that agree with its table."""

import numpy as np
import pytest

from conquer.data import paper, splits

NAMES = (
    "android, arts, automotive, baby products, beauty, books, camera, cell phones, clothing, computers, electronics, "
    "food, garden & pets, health, home, industrial, jewelry, kindle, kitchen, magazines, movies & TV, MP3, music, "
    "musical instruments, office, patio, shoes, software, sports, toys, video games, videos, watches"
)


def test_the_names_are_the_papers() -> None:
    assert ", ".join(paper.DOMAINS) == NAMES
    assert len(paper.DOMAINS) == 33


def test_runs_are_as_long_as_the_table_says() -> None:
    """A twentieth of the training part of every solved domain is a number of rounds that its rates fit."""
    plan = paper.sizes()
    assert sum(plan.values()) == paper.LARGEST == 341_400
    assert len(paper.ROUNDS) == 29
    for name, rounds in paper.ROUNDS.items():
        stars = np.arange(plan[name]) % 5 + 1.0
        held = splits.development(stars, np.arange(stars.size, dtype=np.uint64), 0.15)
        parts = splits.repetition(stars.size, held, 0, 0, name, 0.10)
        assert parts.training.size // 20 == rounds
        assert paper.fits(rounds, paper.SILENCE[name].values())


def test_seven_hundred_and_fifty_rounds_fit_nearly_every_domain() -> None:
    asked = {name: rates.values() for name, rates in paper.SILENCE.items() if any(rates.values())}
    others = {name for name, rates in asked.items() if not paper.fits(750, rates)}
    assert others == {"android", "arts", "jewelry"}
    assert sum(rate > 0 for name, rates in asked.items() if name not in others for rate in rates) == 91
    assert not any(paper.fits(rounds, rates) for rounds in (379, 469) for rates in [paper.SILENCE["books"].values()])


@pytest.mark.parametrize("total", [165, 170, 5_000, 8_250, 24_000, 100_000, 341_395])
def test_smaller_studies_have_all_domains(total: int) -> None:
    plan, full = paper.sizes(total), paper.sizes()
    assert sum(plan.values()) == total
    assert all(size % 5 == 0 and 0 < size <= full[name] for name, size in plan.items())
    least = total // 5 // 99 * 5
    assert all(size >= min(least, full[name]) for name, size in plan.items())
    assert all(plan[one] <= plan[two] for one in plan for two in plan if full[one] < full[two])


@pytest.mark.parametrize("total", [341_405, 160, 171])
def test_refused_totals(total: int) -> None:
    with pytest.raises(ValueError, match=f"multiple of 5 in .165, 341400., got {total}"):
        paper.sizes(total)
