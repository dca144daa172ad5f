"""Every number of the protocol is an option and does what it says."""

import math
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study.studies import numbers, tiny

from conquer.cli.options import read
from conquer.data import splits
from conquer.study.reviews import domains, report
from conquer.study.reviews.command import specifications
from conquer.study.reviews.run import study
from conquer.study.reviews.spec import CEILING, Spec

SMALL = tiny(domains=("android",), items=(3,), algorithms=("ttg", "random"), repetitions=1)


@pytest.mark.parametrize("changes", [{"development": 0.2}, {"test": 0.25}, {"hashing": 8}, {"update": "margin"}])
def test_cells_depend_on_their_settings_and_not_on_the_ceilings(changes: dict[str, Any]) -> None:
    assert replace(Spec(), **changes).settings() != Spec().settings()
    assert Spec(penalties=(1.0,), repetitions=3).settings() == Spec().settings()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"development": 0.0}, "development must be a share between 0 and 1, got 0.0"),
        ({"development": math.nan}, "development must be a share between 0 and 1, got nan"),
        ({"test": 1.5}, "test must be a share between 0 and 1, got 1.5"),
        ({"development": 0.6, "test": 0.4}, r"must leave something for training, got 0.6 \+ 0.4"),
        ({"penalties": ()}, r"penalties must be increasing numbers above 0, got \(\)"),
        ({"penalties": (1.0, 1.0)}, "penalties must be increasing numbers above 0"),
        ({"penalties": (-1.0, 2.0)}, "penalties must be increasing numbers above 0"),
        ({"penalties": (1.0, math.inf)}, "penalties must be increasing numbers above 0"),
        ({"penalties": (math.nan,)}, "penalties must be increasing numbers above 0"),
    ],
)
def test_shares_and_penalties_that_mean_nothing(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Spec(), **changes)


def test_penalties_are_read_from_a_list() -> None:
    specs = specifications("small", **read(Spec, {"penalties": "0.5,2", "test": 0.2}))
    assert {spec.penalties for spec in specs} == {(0.5, 2.0)}
    with pytest.raises(ValueError, match="penalties must be numbers separated by commas, got '1;2'"):
        read(Spec, {"penalties": "1;2"})


def test_other_penalties_run_the_ceiling_alone(tmp_path: Path) -> None:
    before = study(SMALL, tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cells/*/*.json")}
    after = study(replace(SMALL, penalties=(30.0, 300.0)), tmp_path)
    assert len(list(tmp_path.glob("cells/*/*.json"))) == len(kept) + 1
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    learners = pl.col("algorithm") != CEILING
    assert numbers(after.results.filter(learners)) == numbers(before.results.filter(learners))
    assert after.results.filter(~learners)["parameters"][0] in ('{"penalty": 30.0}', '{"penalty": 300.0}')


def test_shares_are_the_parts_and_are_shown(tmp_path: Path) -> None:
    spec = replace(SMALL, development=0.3, test=0.25)
    finished = study(spec, tmp_path)
    size = finished.domains["android"]["reviews"]
    held = domains.development_size(finished.domains["android"], 0.3)
    assert set(finished.results["trained"]) == {size - held - round(0.25 * size)}
    page = unescape(report.write(finished, "conquer study").read_text())
    assert "<th>development</th><td>0.3</td>" in page
    assert "<th>test</th><td>0.25</td>" in page


def test_a_part_too_small_for_a_round_leaves_its_domain_out(tmp_path: Path) -> None:
    for changes in ({"test": 0.01}, {"development": 0.8, "test": 0.195}):
        with pytest.raises(ValueError, match="too few for rounds of 3 items in every part"):
            study(replace(SMALL, **changes), tmp_path)


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0]), min_size=1, max_size=80), st.floats(0.01, 0.9), st.data())
def test_the_development_part_is_as_large_as_foretold(stars: list[float], share: float, data: st.DataObject) -> None:
    fraction = data.draw(st.booleans())
    values = np.array([*stars, 4.5] if fraction else stars)
    strata = np.ones(values.size) if fraction else values
    held = splits.development(strata, np.arange(values.size, dtype=np.uint64), share)
    counts = {f"{v:g}": int(n) for v, n in zip(*np.unique(values, return_counts=True), strict=True)}
    facts = {"stars": counts, "grouped": False, "reviews": values.size, "discrete": not fraction}
    assert domains.development_size(facts, share) == held.size
    assert domains.development_size({**facts, "grouped": True}, share) == round(share * values.size)
