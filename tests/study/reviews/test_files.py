"""A user's own reviews: a folder in, a report out, with everything that was not used accounted for."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from study.studies import tiny

from conquer.data import synthetic
from conquer.study.reviews import domains, report, sources
from conquer.study.reviews.command import run_study
from conquer.study.reviews.report import FIGURES
from conquer.study.reviews.run import study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("reviews")
    documents = synthetic.generate("books", 240)
    rows = [{"text": text, "stars": stars} for text, stars in zip(documents.texts(), documents.stars, strict=True)]
    rows += rows[:7] + [{"text": "six", "stars": 6}] + [{"text": f"too many fives {i}", "stars": 5} for i in range(40)]
    (place / "books.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:10]))
    rng = np.random.default_rng(0)
    rated = [
        {"text": text, "ratings": np.clip(np.round(2 * stars - 6 + rng.normal(size=2 + i % 4)), -4, 4).tolist()}
        for i, (text, stars) in enumerate(zip(documents.texts(), documents.stars, strict=True))
    ]
    (place / "rated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rated))
    return place


def test_a_folder_of_reviews(folder: Path, tmp_path: Path) -> None:
    spec = tiny(data=str(folder), domains=None, minimum=100, repetitions=1, items=(3,))
    finished = study(spec, tmp_path)
    books = finished.domains["books"]
    assert (books["unreadable"], books["duplicates"], books["reviews"], books["balanced"]) == (1, 7, 240, True)
    assert books["problems"][0].endswith("books.jsonl, line 248: expected a rating from 1 to 5, got 6")
    assert finished.domains["rated"]["balanced"] is False
    assert list(finished.left_out) == ["few"]
    page = report.write(finished, "conquer study --data reviews").read_text()
    assert "line 248" in page
    assert "few: 10 reviews after balancing, fewer than --minimum 100" in page
    assert "conquer study --data reviews" in page
    assert not re.search(r"(src|href)=['\"]?(http|//|file)", page)
    for name in FIGURES:
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5_000
        assert (tmp_path / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert page.count("data:image/png;base64,") == len(FIGURES)
    assert pl.read_csv(tmp_path / "tables" / "mean_error.csv").height == 5


def test_the_text_of_made_up_reviews_gives_their_features(folder: Path) -> None:
    """What is written out as words and read back through the text preparation is the same matrix."""
    spec = tiny(data=str(folder), domains=("rated",), minimum=100)
    read, _ = domains.build(sources.sources(spec)[0])
    direct = domains.renumbered(synthetic.generate("books", 240).ngrams()[0])
    assert read.rows.shape == direct.shape
    for one, two in zip(read.rows.csr(), direct.csr(), strict=True):
        assert np.array_equal(np.sort(one.data), np.sort(two.data))


def test_raters_need_ratings_and_use_them(folder: Path, tmp_path: Path) -> None:
    spec = tiny(data=str(folder), domains=None, minimum=100, judge="raters", items=(3,), repetitions=1)
    finished = study(spec, tmp_path)
    assert list(finished.domains) == ["rated"]
    assert finished.left_out["books"] == "no individual ratings for judge 'raters'"


def test_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"data": str(folder / "books.jsonl"), "items": (3,), "algorithms": ("ttg", "random"), "repetitions": 1}
    status = run_study(**options, minimum=100, test_sets=50, out=tmp_path, command=["conquer", "study", "--items", "3"])
    shown = capsys.readouterr().out
    assert status == 0
    assert "full info" in shown
    assert "1 unreadable rows" in shown
    assert (tmp_path / "report.html").exists()
    with pytest.raises(ValueError, match="unknown algorithm nobody"):
        run_study(algorithms=("nobody",), out=tmp_path)


def test_the_report_has_contents_numbered_figures_and_no_raw_json(folder: Path, tmp_path: Path) -> None:
    spec = tiny(data=str(folder / "books.jsonl"), domains=None, minimum=100, repetitions=1, items=(3,))
    page = report.write(study(spec, tmp_path), "conquer study").read_text()
    anchors = set(re.findall(r'id="([^"]+)"', page))
    links = re.findall(r'href="#([^"]+)"', page)
    assert len(links) >= 5
    assert set(links) <= anchors
    numbers = [int(number) for number in re.findall(r"<b>Figure (\d+)\.</b>", page)]
    assert numbers == list(range(1, len(FIGURES) + 1))
    pdfs = re.findall(r'href="([^"#]+\.pdf)"', page)
    assert len(pdfs) == len(FIGURES)
    assert all((tmp_path / pdf).exists() for pdf in pdfs)
    assert "prefers-color-scheme:dark" in page
    assert '"algorithms":' not in page
    assert re.search(r"<details><summary>Settings of the reading", page)
