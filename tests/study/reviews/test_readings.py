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
from conquer.study.reviews.run import study
from conquer.study.reviews.spec import CEILING, ETAS, PAPER, READINGS, Spec, points, preset, reading_of
from conquer.study.reviews.trials import trial

(LITERAL,) = preset("paper")
(OWN,) = preset("ours")


def test_the_paper_to_the_letter() -> None:
    assert (LITERAL.update, LITERAL.features, LITERAL.lam, LITERAL.model) == ("coordinate", "binary", 1.0, "diagonal")
    assert (OWN.update, OWN.features, OWN.tuning, OWN.tune_at) == ("implicit", "idf", "all", "several")
    assert (LITERAL.tuning, LITERAL.tune_at, LITERAL.ngrams) == ("eta", "run", (1, 2))
    for name in ("ttg", "gnr", "gnw"):
        assert points(LITERAL, name) == [{"lam": 1.0}]
    for name in ("gnu", "gnc", "ttu", "unr", "gnt", "confidit"):
        assert points(LITERAL, name) == [{"eta": eta, "lam": 1.0} for eta in ETAS], name
    assert len(set(ETAS)) == 8
    assert [set(point) for point in points(LITERAL, "banditron")] == [{"gamma"}] * 8
    assert points(LITERAL, "random") == [{}]
    assert points(replace(LITERAL, lam=0.5), "confidit")[0]["lam"] == 0.5


@pytest.mark.parametrize("name", PAPER)
def test_what_an_algorithm_is_run_with(name: str) -> None:
    point = points(LITERAL, name)[0]
    learner = outcomes.learner_for(LITERAL, name, 5, point)
    if name not in ("banditron", "random"):
        assert learner.parameters["update"] == "coordinate"
        assert learner.parameters["lam"] == 1.0
        assert learner.parameters["projection"] is None
        assert learner.parameters["model"] == "diagonal"
    assert points(OWN, name) == [dict(each) for each in find(name).grid]


def test_rivals_keep_their_grids() -> None:
    assert points(LITERAL, "maxinp") == [dict(point) for point in find("maxinp").grid]


def test_names_tell_what_is_run() -> None:
    assert [reading_of(spec) for spec in preset("small")] == ["paper", "ours"]
    assert [spec.reviews for spec in preset("small")] == [24_000, 24_000]
    assert reading_of(preset("paper", update="margin")[0]) == "margin"
    assert reading_of(preset("paper", ngrams=(2,))[0]) == "paper, ngrams 2"
    assert reading_of(preset("ours", features="tfidf")[0]) == "ours, features tfidf"
    assert reading_of(preset("paper", lam=2.0)[0]) == "paper, lam 2.0"
    assert reading_of(preset("paper", hashing=18)[0]) == "paper, hashing 18"
    assert reading_of(preset("ours", balance="none")[0]) == "ours, balance none"
    assert preset("paper", ("paper", "margin", "ours"), update="margin", seed=4)[0].seed == 4
    assert len(preset("paper", ("paper", "margin"), update="margin")) == 1
    for fields in READINGS.values():
        assert reading_of(Spec(**fields)) in READINGS


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
        ({"readings": ("paper", "ours"), "lam": 1.0}, "lam 1.0 would not be used: tuning 'all' chooses it"),
        ({"data": "digits", "features": "idf"}, "features idf would not be used: digits are not texts"),
        ({"data": "digits", "ngrams": (1,)}, "would not be used: digits are not texts"),
        ({"tuning": "lam"}, "tuning must be one of eta, all, got 'lam'"),
        ({"tune_at": "5"}, "tune_at must be one of run, several, got '5'"),
        ({"readings": ("theirs",)}, "unknown reading theirs; readings are paper, margin, ours"),
        ({"readings": ()}, r"unknown reading \(none given\)"),
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
        assert tasks.tuning_sizes(replace(tiny(), tune_at="run"), domain, items, 12) == [items]
        assert tasks.tuning_sizes(tiny(), domain, items, 12) == [5, 10]
    seen: list[tuple[int, tuple[int, ...]]] = []
    real = tasks._development_error

    def listening(spec, algorithm, point, part, course, tests):
        seen.append((course.sets.shape[1], tuple(sets.shape[1] for sets in tests)))
        return real(spec, algorithm, point, part, course, tests)

    monkeypatch.setattr(tasks, "_development_error", listening)
    study(tiny(**READINGS["paper"] | {"domains": ("android",), "repetitions": 1, "algorithms": ("gnc",)}), tmp_path)
    assert set(seen) == {(3, (3,)), (4, (4,))}
    assert len(seen) % (2 * len(ETAS)) == 0


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory):
    names = ("ttg", "gnc", "gnu", "confidit", "banditron", "random")
    specs = [tiny(**READINGS[reading] | {"algorithms": names}) for reading in ("paper", "ours")]
    return specs, study(specs, tmp_path_factory.mktemp("both"))


def test_readings_are_run_on_the_same_rounds(both) -> None:
    _, finished = both
    results = finished.results
    assert results.height == 2 * 2 * 2 * 7 * 2
    assert set(results["reading"]) == {"paper", "ours"}
    paper, ours = (results.filter(reading=name) for name in ("paper", "ours"))
    for name in ("equal_in_sets", "rounds"):
        assert paper.sort("domain", "items", "algorithm", "repetition")[name].equals(
            ours.sort("domain", "items", "algorithm", "repetition")[name]
        )
    assert set(paper["update"]) == {"coordinate"}
    assert set(paper.filter(algorithm="ttg")["parameters"]) == {'{"lam": 1.0}'}
    assert paper.filter(algorithm="random")["error"].equals(ours.filter(algorithm="random")["error"])


def test_alone_each_reading_gives_the_same(both, tmp_path: Path) -> None:
    specs, finished = both
    alone = study(specs[0], tmp_path)
    assert numbers(alone.results) == numbers(finished.results.filter(reading="paper"))
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
    assert "Reading: paper" in page
    assert "Reading: ours" in page
    for name in ("paper", "ours"):
        assert (folder / "tables" / name / "mean_error.md").exists()
        assert (folder / "figures" / name / "errors.png").exists()
    assert (folder / "figures" / "readings.png").exists()
    place = folder / "published"
    copied = {str(path.relative_to(place)) for path in publish(folder, place)}
    assert {"claims.md", "readings.md", "readings.png", "paper/errors.png", "ours/mean_error.md"} <= copied
    assert (place / "claims.md").read_text() == (folder / "tables" / "claims.md").read_text()
    assert all(name.endswith((".md", ".png")) for name in copied)
    lines = (folder / "tables" / "readings.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| paper", "| ours"]
    mean = finished.results.filter(reading="paper", algorithm="ttg", items=3)["error"].mean()
    assert float(tables.readings(finished.results)["ttg"][0].split()[0]) == pytest.approx(mean, abs=6e-4)
    head = (folder / "tables" / "claims.md").read_text().splitlines()[0]
    assert head == "| claim | paper | ours | why they differ |"
    found = compared({name: finished.results.filter(reading=name) for name in ("paper", "ours")})
    assert all(set(each.views) == {"paper", "ours"} for each in found)


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
        for reading in ("paper", "ours")
        for items in (3, 4)
    ]
    assert [float(cell) for cell in row[1:]] == pytest.approx(means, abs=6e-4)


def test_what_is_recorded_about_lengths(both) -> None:
    _, finished = both
    learners = finished.results.filter(~pl.col("algorithm").is_in(["random", CEILING]))
    assert learners["length_correlation"].is_between(-1, 1).all()
    assert learners["length_correlation"].null_count() == 0
    single = finished.results.filter(algorithm="confidit")
    assert single.filter(reading="paper")["centred_error"].null_count() == 0
    assert single.filter(reading="ours")["centred_error"].null_count() == single.filter(reading="ours").height


def test_answers_alone_give_the_coordinate_weights() -> None:
    spec = replace(tiny(domains=("android",)), **READINGS["paper"])
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
