"""Verdicts follow the numbers: results made to have a known answer get that answer."""

import numpy as np
import polars as pl
import pytest
from study.studies import judge

from conquer.study.output import markdown
from conquer.study.reviews import tables
from conquer.study.reviews.claims import FAILS, HOLDS, OPEN, PARTLY, compared, table
from conquer.study.reviews.comparison import interval, one_versus_one
from conquer.study.reviews.run import frames
from conquer.study.reviews.spec import CEILING
from conquer.study.reviews.tables import matrix

PAPER_LIKE = {
    "ttg": 0.10, "gnr": 0.11, "gnc": 0.12, "confidit": 0.145, "gnu": 0.15, "ttu": 0.16, "unr": 0.17, "gnw": 0.16,
    "gnt": 0.15, "banditron": 0.35, "random": 0.45, CEILING: 0.08,
}  # fmt: skip
UCB = ("gnu", "gnc", "ttu", "unr")


def made(
    levels: dict[str, float], *, reading: str = "ours", silent=lambda items: 0.008 * 5 / items, passes: int = 1,
    update: str = "implicit", kind: str = "files",
) -> pl.DataFrame:  # fmt: skip
    rng = np.random.default_rng(0)
    rows = []
    for d in range(6):
        for items in (5, 20):
            for repetition in range(4):
                for name, level in levels.items():
                    worse = 0.03 if name in UCB and items == 20 else 0.0
                    error = level + worse + 0.002 * rng.normal() + 0.02 * d
                    rate = 1.0 - (silent(items) if name == "gnc" else 0.0)
                    rows.append(
                        {
                            "reading": reading, "tuning": "all", "lam": 1.0, "update": update, "kind": kind,
                            "domain": f"d{d}", "items": items,
                            "algorithm": name, "repetition": repetition,
                            "error": error, "online_error": None if name == CEILING else error, "regret": error * 100,
                            "trained": 100, "shows": 2, "query_rate": rate, "passes": passes, "equal_pairs": 0.2,
                            "query_rates": [rate - 0.01 * p for p in range(passes)], "equal_in_sets": 0.2,
                            "parameters": {"lam": 1.0}, "length_correlation": 0.1 if update == "implicit" else 0.6,
                            "mean_answer": 0.4, "centred_error": None if update == "implicit" else 0.15,
                            "versions": {}, "seconds": 1.0,
                        }
                    )  # fmt: skip
    return frames(rows)[0]


def verdicts(results: pl.DataFrame) -> dict[str, str]:
    known = ("The paper's methods", "The one-versus-one", "Top Two", "The rate")
    return {
        next((start for start in known if claim.claim.startswith(start)), claim.claim.split()[0]): claim.verdict
        for claim in judge(results)
    }


def test_results_like_the_papers_confirm_it() -> None:
    found = verdicts(made(PAPER_LIKE, passes=3))
    for words in (
        "Banditron",
        "Top Two",
        "Relative",
        "Rules",
        "Algorithms",
        "Choosing",
        "GNC",
        "The rate",
        "Online",
        "With",
    ):
        assert found[words] in (HOLDS, PARTLY if words == "Choosing" else HOLDS), words
    assert found["The one-versus-one"] == HOLDS


def test_results_turned_round_refute_it() -> None:
    order = sorted(PAPER_LIKE, key=lambda name: PAPER_LIKE[name])
    levels = dict(zip(order[1:-1], sorted((PAPER_LIKE[n] for n in order[1:-1]), reverse=True), strict=True))
    results = made(levels | {CEILING: 0.08, "random": 0.45}, silent=lambda items: 0.3 if items == 20 else 0.01)
    found = verdicts(results)
    assert found["Banditron"] == FAILS
    assert found["Top Two"] == FAILS
    assert found["With"] == OPEN
    assert found["The rate"] == FAILS
    assert found["GNC"] == FAILS


def claim_of(results: pl.DataFrame, start: str):
    return next(claim for claim in judge(results) if claim.claim.startswith(start))


def test_the_abstracts_claim_is_tried_at_every_k_against_each_rival() -> None:
    far = PAPER_LIKE | {"confidit": 0.25}
    held = claim_of(made(far), "The paper's methods")
    assert held.verdict == HOLDS
    for rival in ("confidit", "banditron"):
        assert f"against {rival} 12 of 12, lost 0 (95 % intervals over 6 domains)" in held.evidence
    assert "K = 20, ttg 0.15" in held.evidence
    one = claim_of(made(far | {"ttu": 0.25}), "The paper's methods")
    assert one.verdict == PARTLY
    turned = claim_of(made(far | {"confidit": 0.09}), "The paper's methods")
    assert turned.verdict == FAILS
    assert "against confidit 0 of 12, lost 12" in turned.evidence
    assert "against banditron 12 of 12" in turned.evidence
    same = claim_of(made(dict.fromkeys(("ttg", "banditron", "confidit"), 0.2) | {CEILING: 0.1}), "The paper's methods")
    assert same.verdict == OPEN


def test_relative_bounds_must_win_at_every_k() -> None:
    assert claim_of(made(PAPER_LIKE), "Relative").verdict == HOLDS
    assert claim_of(made(PAPER_LIKE | {"gnc": 0.16}), "Relative").verdict == FAILS
    results = made(PAPER_LIKE)
    worse = pl.when((pl.col("algorithm") == "gnc") & (pl.col("items") == 20)).then(0.2).otherwise(0.0)
    part = claim_of(results.with_columns(pl.col("error") + worse), "Relative")
    assert part.verdict == PARTLY
    assert "K = 5: " in part.evidence
    assert "K = 20: " in part.evidence


def test_rules_with_bounds_are_put_beside_the_others() -> None:
    assert claim_of(made(PAPER_LIKE), "Rules with").verdict == HOLDS
    assert claim_of(made(PAPER_LIKE | {"ttg": 0.3, "gnr": 0.3}), "Rules with").verdict == FAILS


def test_every_claim_stands_under_both_readings_with_what_decides_it() -> None:
    one, two = "T=n, balanced, coordinate, idf, eta+lam", "T=n, balanced, implicit, idf, eta+lam"
    paper = made(PAPER_LIKE | {"confidit": 0.25}, reading=one, update="coordinate")
    ours = made(PAPER_LIKE | {"confidit": 0.09}, reading=two)
    claims = compared({one: paper, two: ours})
    first = claims[0]
    assert {name: view.verdict for name, view in first.views.items()} == {one: HOLDS, two: FAILS}
    assert first.decided == "update (coordinate: holds; implicit: not)"
    same = next(each for each in claims if each.claim.startswith("Banditron"))
    assert same.decided == "nothing: holds everywhere"
    page = table({one: paper, two: ours})
    assert page.startswith("|  | rounds | balance | update | features | tuning | domains | repetitions |\n")
    assert "| holds | fails | update (coordinate: holds; implicit: not) |" in page
    assert table({two: ours}).startswith("| claim | here | numbers |")
    frame = tables.lengths(pl.concat([paper, ours]))
    assert frame["mean removed"].to_list() == [pytest.approx(0.15), None]


@pytest.mark.parametrize("name", [name for name in PAPER_LIKE if name not in ("random", CEILING)])
def test_any_single_algorithm_can_be_judged(name: str) -> None:
    found = judge(made({name: 0.2, CEILING: 0.1}))
    assert found[-1].evidence.startswith(f"K = 5: {name}")


def test_a_single_trial_has_no_interval() -> None:
    results = made({"ttg": 0.1, CEILING: 0.05})
    single = results.filter((pl.col("domain") == results["domain"][0]) & (pl.col("repetition") == 0))
    assert interval(single, "ttg", 5)[1] is None
    assert "nan" not in markdown(tables.mean_errors(single)).lower()


def test_one_versus_one_counts() -> None:
    results = made({"ttg": 0.1, "gnr": 0.2, CEILING: 0.05, "random": 0.4})
    duels = one_versus_one(results)
    row = duels.filter((pl.col("row") == "ttg") & (pl.col("column") == "gnr")).to_dicts()[0]
    assert (row["wins"], row["losses"]) == (48, 0)
    assert (row["units"], row["p"] < 1e-6) == (6, True)
    square = matrix(duels)
    assert square.filter(pl.col("beat") == "ttg")["gnr"][0] == "48*"
    assert row["p"] <= row["holm"] <= 6 * row["p"]
    assert square["beat"].to_list() == square.columns[1:] == ["ttg", "gnr", "random", CEILING]
    assert square[CEILING].to_list() == ["0*", "0*", "0*", "-"]
    assert square.filter(pl.col("beat") == CEILING).row(0)[1:] == ("48*", "48*", "48*", "-")
    mean, half = interval(results, "ttg", 5)
    assert mean == pytest.approx(0.15, abs=0.002)
    assert half is not None
    assert half < 0.004
    means = tables.mean_errors(results)
    assert means.filter(pl.col("algorithm") == "gnr")["of ceiling"][0] == pytest.approx(2.5, abs=0.05)
    assert tables.silence(made(PAPER_LIKE)).filter(pl.col("domain") == "mean")["K=5"][0] == pytest.approx(0.8)
