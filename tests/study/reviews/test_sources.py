"""What is wrong with files or with the place for the report is said before anything starts."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from study.studies import tiny

from conquer.data import synthetic
from conquer.data.compression import DataError
from conquer.data.splits import development
from conquer.study.output import check_place
from conquer.study.reviews import domains, sources
from conquer.study.reviews.command import run_study
from conquer.study.reviews.run import study
from conquer.study.reviews.sources import preview


def ten(place: Path, share: float = 1.0) -> Path:
    """Reviews rated 1 to 10, some of them in words."""
    documents = synthetic.generate("books", 400)
    rng = np.random.default_rng(0)
    path = place / "films.csv"
    lines = ["Date,Review,Score"]
    for text, stars in zip(documents.texts(), documents.stars, strict=True):
        score = int(2 * stars - rng.integers(0, 2))
        lines.append(f"today,{text},{score if rng.random() < share else 'good'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_scale_is_seen_and_said_with_the_columns(tmp_path: Path) -> None:
    spec = tiny(data=str(ten(tmp_path)), domains=None, minimum=100)
    assert preview(spec) == [
        "films: text from 'Review', rating from 'Score' on the scale 1:10 (inferred from the ratings; --scale "
        "sets it); not used: Date"
    ]
    (source,) = sources.sources(spec)
    domain, about = domains.build(source)
    assert (about["unreadable"], about["scale"], about["balanced"]) == (0, "1:10", True)
    assert np.unique(domain.stars).size == 10
    assert np.allclose((domain.stars - 1) * 9 / 4, np.round((domain.stars - 1) * 9 / 4))
    # The development part has every rating in proportion, and is as large as planned.
    facts = domains.store(source, tmp_path / "work")
    assert domains.development_size(facts, 0.15) == development(domain.strata, domain.hashes, 0.15).size


def test_a_scale_that_is_given_is_another_domain_and_five_stars_are_the_same(tmp_path: Path) -> None:
    path = ten(tmp_path)
    keys = {scale: sources.sources(tiny(data=str(path), domains=None, scale=scale))[0].key for scale in (None, "1:10")}
    assert keys[None] == keys["1:10"]
    assert keys[None] != sources.sources(tiny(data=str(path), domains=None, scale="0:10"))[0].key
    five = tmp_path / "books.jsonl"
    five.write_text('{"text": "a", "stars": 1}\n{"text": "b", "stars": 5}\n')
    plain = sources.DomainSource("files", "books", (str(five),), 0, 0, "stars", sources.fingerprint((five,)))
    assert sources.sources(tiny(data=str(five), domains=None))[0].key == plain.key


def test_half_the_rows_unreadable_is_refused_unless_allowed(tmp_path: Path) -> None:
    data = str(ten(tmp_path, share=0.9))
    spec = tiny(data=data, domains=None, minimum=100)
    wanted = (
        r"films: \d+ of 400 rows cannot be read, the first in .*films.csv, line \d+: expected .* got 'good'.*--scale"
    )
    for call in (preview, lambda each: study(each, tmp_path / "out")):
        with pytest.raises(DataError, match=wanted):
            call(spec)
    allowed = tiny(data=data, domains=None, minimum=100, allow_unreadable=True, items=(3,), repetitions=1)
    assert study(allowed, tmp_path / "out").domains["films"]["unreadable"] > 20
    with pytest.raises(DataError, match="rows cannot be read"):
        preview(tiny(data=str(ten(tmp_path)), domains=None, scale="1:5"))


def test_ratings_on_no_usual_scale_ask_for_one(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("text,score\na,-300\nb,12\n")
    with pytest.raises(DataError, match=r"ratings from -300 to 12 fit no usual scale; give it with --scale"):
        preview(tiny(data=str(path), domains=None))
    with pytest.raises(ValueError, match="such as 1:10"):
        tiny(data=str(path), scale="ten")
    with pytest.raises(ValueError, match="synthetic has stars from 1 to 5"):
        tiny(scale="1:10")


def test_another_studys_report_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = ten(tmp_path), tmp_path / "out"
    options = {"data": str(path), "items": (3,), "repetitions": 1, "minimum": 100, "test_sets": 50, "out": out}
    run_study(**options, algorithms=("ttg", "random"))
    assert "rating from 'Score' on the scale 1:10" in re.sub(r"\s+", " ", capsys.readouterr().out)
    first = (out / "report.html").read_bytes()
    with pytest.raises(ValueError, match=r"has the report of another study \(algorithms\): choose another --out"):
        run_study(**options, algorithms=("gnr", "random"))
    assert (out / "report.html").read_bytes() == first
    run_study(**options, algorithms=("ttg", "random"))
    run_study(**options, algorithms=("gnr", "random"), overwrite=True)
    assert json.loads((out / "study.json").read_text())["settings"][0]["algorithms"] == ["gnr", "random"]


def test_an_unsigned_report_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("old")
    with pytest.raises(ValueError, match=r"another study \(unknown\)"):
        check_place(tmp_path, "report.html", "reviews", [tiny()])
    check_place(tmp_path, "report.html", "reviews", [tiny()], overwrite=True)
