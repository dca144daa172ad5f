"""The axes of a reading: the number of rounds, the item that is judged, controls, and what decides a claim."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from study.studies import numbers, tiny

from conquer.data.reviews import read
from conquer.simulation import simulate
from conquer.study.reviews import claims, domains, outcomes, report, rounds, sources, tables, tasks
from conquer.study.reviews.claims import FAILS, HOLDS
from conquer.study.reviews.command import rehearse
from conquer.study.reviews.run import study
from conquer.study.reviews.spec import CEILING, CONTROLS, preset, short_names


def domain_of(**changes) -> domains.Domain:
    return domains.build(sources.sources(tiny(domains=("clothing",), **changes))[0])[0]


@pytest.mark.parametrize("items", [3, 4, 20])
def test_the_number_of_rounds(items: int) -> None:
    domain = domain_of()
    for kind, size in (("training", 1), ("training/20", 20), ("training/K", items)):
        split = rounds.split(tiny(rounds=kind, items=(items,)), domain, 0)
        sets, training = split.course(items).sets, split.part.learning
        assert sets.shape == (training.size // size, items)
        assert set(sets.ravel()) <= set(training.tolist())
        assert all(np.unique(row).size == items for row in sets)
        if kind != "training":
            assert np.unique(sets).size == sets.size, "the sets are disjoint"


def test_fewer_items_are_a_part_of_the_same_disjoint_sets() -> None:
    split = rounds.split(tiny(rounds="training/20", items=(5, 20)), domain_of(), 0)
    few, many = split.course(5).sets, split.course(20).sets
    assert np.array_equal(few, many[:, :5])


def test_tuning_has_the_rounds_of_the_run() -> None:
    short, long = (preset("paper", rounds=kind)[0] for kind in ("training/20", "training"))
    assert tasks.tuning_effort(long, 300, 5) == (600, 5)
    assert tasks.tuning_effort(short, 300, 5) == (75, 24)
    assert tasks.tuning_effort(replace(short, rounds="training/K"), 300, 5) == (300, 10)


def test_the_error_is_that_of_the_first_item_chosen() -> None:
    """ttu chooses its first item by upper bound: the study judges the item that `choose` shows."""
    spec = tiny(domains=("clothing",), update="coordinate", features="binary", tuning="eta", test_sets=300)
    split = rounds.split(replace(spec, rounds="training/K"), domain_of(), 0)
    part, course = split.part, split.course(4)
    for name, differs in (("ttu", True), ("confidit", True), ("gnc", False), ("ttg", False)):
        point = {"lam": 1.0} | ({} if name == "ttg" else {"eta": 30.0})
        learner = outcomes.learner_for(spec, name, part.X.dim, point)
        simulate(learner, course.segments[0], seed=1)
        error, plain = outcomes.first_error(learner, part, course.tests)
        stars = part.stars[course.tests]
        first = [learner.choose(part.X.take(rows), number).shown[0] for number, rows in enumerate(course.tests)]
        by_hand = (stars.max(axis=1) - stars[np.arange(len(stars)), first]).mean() / 4.0
        assert error == pytest.approx(by_hand, abs=0.03)  # ties are a mean here, and drawn there
        assert (error != plain) == differs


def test_projected_controls_choose_set_by_set() -> None:
    spec = tiny(domains=("clothing",), test_sets=25)
    split = rounds.split(spec, domain_of(), 0)
    learner = outcomes.learner_for(spec, "gnc-projected", split.part.X.dim, {"eta": 1.0, "lam": 0.3})
    assert learner.parameters["projection"] == "sequential"
    simulate(learner, split.course(4).segments[0], seed=1)
    error, plain = outcomes.first_error(learner, split.part, split.course(4).tests)
    assert 0 < error < 0.5
    assert error == pytest.approx(plain, abs=0.1)


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory):
    spec = tiny(
        domains=("android", "clothing"),
        algorithms=("ttg", "gnc", *CONTROLS),
        items=(3,),
        tuning="eta",
        update="coordinate",
    )
    return spec, study(spec, tmp_path_factory.mktemp("controlled"))


def test_a_control_has_the_parameters_of_its_algorithm_and_asks(controlled) -> None:
    _, finished = controlled
    for control, (base, _) in CONTROLS.items():
        one, two = (
            finished.results.filter(algorithm=name).sort("domain", "repetition")["parameters"]
            for name in (control, base)
        )
        assert one.to_list() == two.to_list()
    assert set(finished.results.filter(algorithm="gnc-always")["query_rate"]) == {1.0}
    silent = finished.results.filter(pl.col("algorithm") == "gnc")
    always = finished.results.filter(pl.col("algorithm") == "gnc-always")
    same = silent.join(always, on=["domain", "repetition"]).filter(pl.col("query_rate") == 1.0)
    assert same["error"].to_list() == same["error_right"].to_list(), "a gate that never closes changes nothing"


def test_controls_are_no_contenders(controlled) -> None:
    _, finished = controlled
    made = tables.all_tables(finished.results)
    assert not set(CONTROLS) & set(made["mean_error"]["algorithm"])
    assert set(made["controls"]["control"]) == set(CONTROLS)
    assert made["silence_by_eta"]["runs"].sum() == finished.results.filter(algorithm="gnc").height
    assert not any(name in claim.evidence for name in CONTROLS for claim in [
        claims.averages(claims.Facts(finished.results)), claims.ceiling(claims.Facts(finished.results)),
    ] if claim)  # fmt: skip


def test_readings_that_differ_in_the_update_share_the_ceiling(tmp_path: Path) -> None:
    specs = [
        tiny(domains=("android",), algorithms=("ttg",), items=(3,), update=update)
        for update in ("coordinate", "margin")
    ]
    finished = study(specs, tmp_path)
    assert len(list(tmp_path.glob("cells/*/*.json"))) == 2 * 2 + 2 + 2  # ttg under both, its tuning, one ceiling
    top = finished.results.filter(algorithm=CEILING)
    assert top.height == 4
    alone = study(specs[1], tmp_path / "alone")
    kept = finished.results.filter(update="margin")
    assert numbers(alone.results) == numbers(kept)


def test_the_smallest_set_of_axes() -> None:
    places = {
        f"{r} {b} {u}": {"rounds": r, "balance": b, "update": u}
        for r in ("training", "training/20") for b in ("none", "stars") for u in ("coordinate", "margin")
    }  # fmt: skip
    one = {name: HOLDS if place["update"] == "margin" else FAILS for name, place in places.items()}
    assert claims.deciding(one, places) == "update (coordinate: not; margin: holds)"
    two = {n: HOLDS if (p["update"], p["rounds"]) == ("margin", "training") else FAILS for n, p in places.items()}
    assert claims.deciding(two, places) == "rounds and update"
    assert claims.deciding(dict.fromkeys(places, HOLDS), places) == "nothing: holds everywhere"
    assert (
        claims.deciding(dict.fromkeys(places, FAILS) | {"training none margin": "undecided"}, places)
        == "nothing: holds nowhere"
    )
    either = {name: two[name] for name in ("training none margin", "training/20 none coordinate")}
    assert claims.deciding(either, places).count(" or ") == 1


def test_claims_of_several_studies_on_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading of two studies is taken from the one with more repetitions; synthetic domains are apart."""
    for name, repetitions, updates in (("a", 2, ("coordinate",)), ("b", 1, ("coordinate", "margin"))):
        specs = [
            tiny(domains=("android",), algorithms=("ttg", "confidit", "banditron"), items=(3,), update=update,
                 repetitions=repetitions, tuning="none")
            for update in updates
        ]  # fmt: skip
        study(specs, tmp_path / name)
    page = report.combine([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    assert not page.exists()
    lines = page.with_stem("claims_synthetic").read_text().splitlines()
    assert [line.split(" | ")[-1] for line in lines[2:4]] == ["2 |", "1 |"]
    assert "one generator" not in lines[0]


def test_names_say_what_distinguishes_readings() -> None:
    assert short_names(["T=n, balanced, margin"]) == {"T=n, balanced, margin": "T=n, balanced, margin"}
    assert [*short_names(["a, b, c", "a, x, c", "a, b, c, lam 2"]).values()] == ["b", "x", "b, lam 2"]


def test_several_raters_of_vader_have_their_own_scale(tmp_path: Path) -> None:
    """-4..4 is 1 to 5 stars, beside a column of means as well, so that no error is 0.8 times too small."""
    path = tmp_path / "vader.jsonl"
    path.write_text(
        '{"text": "bad", "mean": -4.0, "ratings": [-4, -4]}\n{"text": "good", "mean": 3.0, "ratings": [4, 2]}\n'
    )
    source = sources.sources(tiny(data=str(path), domains=None, judge="raters"))[0]
    found = list(read(path, scale=source.scale))
    assert [review.stars for review in found] == [1.0, 4.5]
    assert found[1].ratings == (5.0, 4.0)


def test_options_of_files_do_not_reach_the_synthetic_rehearsal(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    path.write_text('{"text": "good", "stars": 9}\n')
    spec = tiny(data=str(path), domains=None, scale="1:10", ngrams=(1, 2, 3), rounds="training/20")
    rehearse([spec])
    with pytest.raises(ValueError, match="scale 1:10 would not be used"):
        replace(spec, data="synthetic", ngrams=(1, 2))
