"""Readings of the paper: what each one runs exactly, several of them side by side, and what n-grams they see."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from study.studies import numbers, tiny

from conquer.registry import find, make
from conquer.simulation import simulate
from conquer.study.backends import processes
from conquer.study.output import publish
from conquer.study.reviews import domains, outcomes, report, sources, tables, tasks
from conquer.study.reviews.claims import compared
from conquer.study.reviews.command import ENTRY
from conquer.study.reviews.run import study
from conquer.study.reviews.spec import ALPHAS, CEILING, ETAS, PAPER, READINGS, Spec, points, preset, reading_of
from conquer.study.reviews.trials import trial

(LITERAL,) = preset("paper")
(OWN,) = preset("ours")
PAPERS, OWNS = "T=n, balanced, coordinate, binary, eta", "T=n, balanced, implicit, idf, eta+lam"


def test_nothing_added_to_the_paper() -> None:
    assert (LITERAL.update, LITERAL.features, LITERAL.lam, LITERAL.model) == ("coordinate", "binary", 1.0, "diagonal")
    assert (LITERAL.rounds, LITERAL.balance, LITERAL.tuning, LITERAL.ngrams) == ("training/20", "none", "eta", (1, 2))
    assert (OWN.update, OWN.features, OWN.tuning, OWN.balance) == ("implicit", "idf", "all", "stars")
    for name in ("ttg", "gnr", "gnw"):
        assert points(LITERAL, name) == [{"lam": 1.0}]
    for name in ("gnu", "gnc", "ttu", "unr", "gnt"):
        assert points(LITERAL, name) == [{"eta": eta, "lam": 1.0} for eta in ETAS], name
    (untuned,) = preset("paper", tuning="none")
    assert all(len(points(untuned, name)) == 1 for name in PAPER)


def test_confidits_alpha_is_tuned() -> None:
    for spec in (LITERAL, OWN):
        grid = points(spec, "confidit")
        assert {point["alpha"] for point in grid} == set(ALPHAS)
        assert len(grid) == 8 * len(ALPHAS)
    assert len(set(ETAS)) == 8
    assert [set(point) for point in points(LITERAL, "banditron")] == [{"gamma"}] * 8
    assert points(LITERAL, "random") == [{}]


@pytest.mark.parametrize("name", PAPER)
def test_what_an_algorithm_is_run_with(name: str) -> None:
    point = points(LITERAL, name)[0]
    learner = outcomes.learner_for(LITERAL, name, 5, point)
    if name not in ("banditron", "random"):
        assert learner.parameters["update"] == "coordinate"
        assert learner.parameters["lam"] == 1.0
        assert learner.parameters["projection"] is None
        assert learner.parameters["model"] == "diagonal"
    if name != "confidit":
        assert points(OWN, name) == [dict(each) for each in find(name).grid]


def test_rivals_keep_their_grids() -> None:
    assert points(LITERAL, "maxinp") == [dict(point) for point in find("maxinp").grid]


def test_names_tell_what_is_run() -> None:
    assert [reading_of(spec) for spec in preset("small")] == [
        "T=n/20, as found, coordinate, binary, eta", "T=n, balanced, implicit, idf, eta+lam",
    ]  # fmt: skip
    assert [spec.reviews for spec in preset("small")] == [24_000, 24_000]
    assert reading_of(preset("paper", update="margin")[0]) == "T=n/20, as found, margin, binary, eta"
    assert reading_of(preset("paper", lam=2.0, hashing=18)[0]).endswith("eta, lam 2.0, hashing 18")
    assert len({reading_of(spec) for spec in preset("paper", rounds="training,training/20,training/K")}) == 3


def test_axes_with_several_values_give_every_combination() -> None:
    specs = preset("paper", rounds="training,training/20", balance="none, stars", update="margin", seed=4)
    assert [(spec.rounds, spec.balance) for spec in specs] == [
        ("training", "none"), ("training", "stars"), ("training/20", "none"), ("training/20", "stars"),
    ]  # fmt: skip
    assert {(spec.update, spec.seed) for spec in specs} == {("margin", 4)}
    assert len(preset("small", update="margin", features="idf", tuning="eta", rounds="training", balance="none")) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ngrams": ()}, r"ngrams must be consecutive numbers from 1 to 2, got \(\)"),
        ({"ngrams": (2, 1)}, "ngrams must be consecutive numbers"),
        ({"ngrams": (0, 1)}, "ngrams must be consecutive numbers"),
        ({"ngrams": (1, 2, 3)}, "ngrams must be consecutive numbers from 1 to 2"),
        ({"lam": 0.0}, r"lam must be a finite number in \[1e-100, 1e\+100\], got 0"),
        ({"lam": 1e300}, r"lam must be a finite number in \[1e-100, 1e\+100\], got 1e\+300"),
        ({"tuning": "all", "lam": 2.0}, "lam 2.0 would not be used: tuning 'all' chooses it"),
        ({"tuning": "eta,all", "lam": 1.0}, "lam 1.0 would not be used: tuning 'all' chooses it"),
        ({"data": "digits", "features": "idf"}, "features idf would not be used: digits are not texts"),
        ({"data": "digits", "ngrams": (1,)}, "would not be used: digits are not texts"),
        ({"tuning": "lam"}, "tuning must be one of none, eta, all, got 'lam'"),
        ({"rounds": "training,all"}, "rounds must be one of training, training/20, training/K, got 'all'"),
        ({"items": (5, 25)}, r"rounds training/20 are disjoint sets of 20: items must be at most 20, got \(5, 25\)"),
        ({"data": "digits", "rounds": "training/K"}, "rounds training/K would not be used: digits are not texts"),
    ],
)
def test_settings_that_mean_nothing(changes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        preset("paper", **changes)


def rows_of(**changes) -> domains.Domain:
    return domains.build(sources.sources(tiny(domains=("android",), **changes))[0])[0]


def test_ngrams_are_words_pairs_or_both() -> None:
    both, words, pairs = (rows_of(ngrams=n).rows for n in ((1, 2), (1,), (2,)))
    assert both.data.sum() == words.data.sum() + pairs.data.sum()
    assert both.dim == words.dim + pairs.dim
    assert words.data.sum() == pairs.data.sum() + len(words)
    keys = {sources.sources(tiny(ngrams=n))[0].key for n in ((1, 2), (1,), (2,))}
    assert len(keys) == 3


def test_ngrams_of_files(tmp_path: Path) -> None:
    (tmp_path / "shop.jsonl").write_text('{"text": "so good so good", "stars": 5}\n{"text": "bad", "stars": 1}\n')
    for ngrams, entries in (((1,), 3), ((2,), 2), ((1, 2), 5), ((1, 2, 3), 7)):
        spec = Spec(data=str(tmp_path), ngrams=ngrams)
        assert domains.build(sources.sources(spec)[0])[0].rows.data.size == entries


def test_a_point_is_judged_at_the_k_that_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = rows_of()
    for items in (3, 4):
        assert tasks.tuning_sizes(tiny(tuning="eta"), domain, items, 12) == [items]
        assert tasks.tuning_sizes(tiny(), domain, items, 12) == [5, 10]
    seen: list[tuple[int, tuple[int, ...]]] = []
    real = tasks._development_error

    def listening(spec, algorithm, point, part, course, tests):
        seen.append((course.sets.shape[1], tuple(sets.shape[1] for sets in tests)))
        return real(spec, algorithm, point, part, course, tests)

    monkeypatch.setattr(tasks, "_development_error", listening)
    literal = READINGS["paper"] | {"rounds": "training", "balance": "stars"}
    study(tiny(**literal | {"domains": ("android",), "repetitions": 1, "algorithms": ("gnc",)}), tmp_path)
    assert set(seen) == {(3, (3,)), (4, (4,))}
    assert len(seen) % (2 * len(ETAS)) == 0


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory):
    names = ("ttg", "gnc", "gnu", "confidit", "banditron", "random")
    same = {"algorithms": names, "rounds": "training", "balance": "stars"}
    specs = [tiny(**READINGS[reading] | same) for reading in ("paper", "ours")]
    return specs, study(specs, tmp_path_factory.mktemp("both"))


def test_readings_are_run_on_the_same_rounds(both) -> None:
    _, finished = both
    results = finished.results
    assert results.height == 2 * 2 * 2 * 7 * 2
    assert set(results["reading"]) == {PAPERS, OWNS}
    paper, ours = (results.filter(reading=name) for name in (PAPERS, OWNS))
    for name in ("equal_in_sets", "trained"):
        assert paper.sort("domain", "items", "algorithm", "repetition")[name].equals(
            ours.sort("domain", "items", "algorithm", "repetition")[name]
        )
    assert set(paper["update"]) == {"coordinate"}
    assert set(paper.filter(algorithm="ttg")["parameters"]) == {'{"lam": 1.0}'}
    assert paper.filter(algorithm="random")["error"].equals(ours.filter(algorithm="random")["error"])


def test_alone_each_reading_gives_the_same(both, tmp_path: Path) -> None:
    specs, finished = both
    alone = study(specs[0], tmp_path)
    assert numbers(alone.results) == numbers(finished.results.filter(reading=PAPERS))
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cells/*/*.json")}
    again = study(specs, tmp_path, processes(2))
    assert numbers(again.results) == numbers(finished.results)
    assert numbers(again.curves) == numbers(finished.curves)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_one_report_of_two_readings(both) -> None:
    _, finished = both
    page = report.write(finished, "conquer study").read_text()
    folder = finished.folder
    assert "judge linear, 1 pass, seed 0," in page
    assert "Reading: coordinate, binary, eta" in page
    for name in ("coordinate-binary-eta", "implicit-idf-eta-lam"):
        assert (folder / "tables" / name / "mean_error.md").exists()
        assert (folder / "figures" / name / "errors.png").exists()
    assert (folder / "figures" / "readings.png").exists()
    place = folder / "published"
    copied = {str(path.relative_to(place)) for path in publish(folder, place, ["conquer", "study"], ENTRY)}
    own = "coordinate-binary-eta"
    assert {"claims.md", "readings.md", "lengths.md", "readings.png", f"{own}/errors.png"} <= copied
    assert {f"{own}/regret_by_domain.png", f"{own}/regret_by_domain_one.png"} <= copied
    assert (place / "claims.md").read_text() == (folder / "tables" / "claims.md").read_text()
    assert all(name.endswith((".md", ".png")) for name in copied)
    lines = (folder / "tables" / "readings.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {PAPERS}", f"| {OWNS}"]
    mean = finished.results.filter(reading=PAPERS, algorithm="ttg", items=3)["error"].mean()
    assert float(tables.readings(finished.results)["ttg"][0].split()[0]) == pytest.approx(mean, abs=6e-4)
    head = (folder / "tables" / "claims.md").read_text().splitlines()
    assert head[0] == "|  | rounds | balance | update | features | tuning | domains | repetitions |"
    assert "| claim | 1 | 2 | whether it holds is decided by |" in head
    found = compared({name: finished.results.filter(reading=name) for name in (PAPERS, OWNS)})
    assert all(set(each.views) == {PAPERS, OWNS} for each in found)


def test_one_table_on_the_terminal(both) -> None:
    _, finished = both
    console = Console(width=80, file=io.StringIO())
    report.show(finished, console)
    said = console.file.getvalue().splitlines()
    heading = next(line for line in said if "K=3" in line)
    assert heading.split() == ["algorithm", "K=3", "K=4", "K=3", "K=4"]
    row = next(line.split() for line in said if line.split()[:1] == ["confidit"])
    means = [
        finished.results.filter(reading=reading, algorithm="confidit", items=items)["error"].mean()
        for reading in (PAPERS, OWNS)
        for items in (3, 4)
    ]
    assert [float(cell) for cell in row[1:]] == pytest.approx(means, abs=6e-4)


def test_what_is_recorded_about_lengths(both) -> None:
    _, finished = both
    learners = finished.results.filter(~pl.col("algorithm").is_in(["random", CEILING]))
    assert learners["length_correlation"].is_between(-1, 1).all()
    assert learners["length_correlation"].null_count() == 0
    single = finished.results.filter(algorithm="confidit")
    assert single.filter(reading=PAPERS)["centred_error"].count() <= single.filter(reading=PAPERS).height
    assert single.filter(reading=OWNS)["centred_error"].null_count() == single.filter(reading=OWNS).height


def test_answers_alone_give_the_coordinate_weights() -> None:
    spec = replace(tiny(domains=("android",)), **READINGS["paper"] | {"rounds": "training"})
    given = trial(spec, rows_of(), 0, 3)
    learner = make("confidit", dim=given.part.X.dim, update="coordinate", lam=1.0, eta=0.3)
    trace = simulate(learner, given.course.segments[0], seed=given.course.seed)
    rows = given.course.sets[np.arange(trace.query.size), trace.shown[:, 0]]
    weights = outcomes.answer_weights(given.part, rows, trace.answers, 1.0)
    np.testing.assert_allclose(weights, learner.model.weights(), atol=1e-12)


def test_a_narrow_terminal_has_one_table_after_the_other(both) -> None:
    _, finished = both
    console = Console(width=30, file=io.StringIO())
    report.show(finished, console)
    said = console.file.getvalue()
    assert "…" not in said
    assert [line.split() for line in said.splitlines() if "K=3" in line] == 2 * [["algorithm", "K=3", "K=4"]]
