"""The study on a small made-up treebank: resumable, the same in workers, and its report."""

import polars as pl
import pytest
from parsing.treebanks import random_treebank

from conquer.cli.options import read
from conquer.data.treebank import TreebankError, write
from conquer.parsing.spec import FULL
from conquer.study.backends import processes, serial
from conquer.study.parsing import run
from conquer.study.parsing.report import table
from conquer.study.parsing.run import PARTS, run_parsing_study
from conquer.study.parsing.spec import ParsingSpec
from conquer.study.runner import run_cells


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "UD_Made-Up"
    home.mkdir()
    for seed, part in enumerate(PARTS):
        write(home / f"xx_up-ud-{part}.conllu.xz", random_treebank(seed, 60))
    return home


def spec(folder, **options):
    small = {"ask": ("gnc", "random"), "seeds": 2, "passes": 2, "points": 3, "features": "tags", "bits": 9}
    return ParsingSpec(treebank=folder, **(small | options))


def study_parsing(chosen, out, backend=serial):
    return run.frame_of(run_cells(run.measure, run.cells_of(chosen), out, backend))


def test_resumed_and_parallel_studies_are_the_same(tmp_path, folder, monkeypatch):
    whole = study_parsing(spec(folder), tmp_path / "one")
    apart = study_parsing(spec(folder), tmp_path / "two", processes(2))
    assert whole.drop("seconds").equals(apart.drop("seconds"))
    more = study_parsing(spec(folder, seeds=3), tmp_path / "one")
    assert more.filter(pl.col("seed") < 2).equals(whole)
    monkeypatch.setattr(run, "measure", None)
    assert study_parsing(spec(folder), tmp_path / "one").equals(whole)


def test_numbers_hang_together(tmp_path, folder):
    frame = study_parsing(spec(folder), tmp_path / "out")
    ends = frame.filter(pl.col("visits") % pl.col("sentences") == 0, pl.col("ask") != FULL)
    assert (ends["questions"] <= ends["visits"]).all()
    assert ends["share"].max() < 1
    assert frame["uas"].is_between(0, 1).all()
    assert frame.filter(pl.col("ask") != FULL)["early"].is_between(0, 1).all()
    assert set(table(frame)["ask"]) == {"gnc", "random", FULL}


def test_priors_side_by_side(tmp_path, folder):
    alone = study_parsing(spec(folder, ask=("gnc",)), tmp_path / "out")
    both = study_parsing(spec(folder, ask=("gnc",), prior=("none", "upos")), tmp_path / "out")
    assert set(table(both)["ask"]) == {"gnc", "gnc+upos", FULL}
    assert both.filter(pl.col("ask") != "gnc+upos").equals(alone), "the same cells, found again"
    mean = dict(both.group_by("ask").agg(pl.col("uas_nopunct").mean()).rows())
    assert mean["gnc"] != mean["gnc+upos"]
    with pytest.raises(ValueError, match="prior must be one of"):
        run.cells_of(spec(folder, prior=("tags",)))


def test_report(tmp_path, folder):
    out = tmp_path / "out"
    small = spec(folder, ask=("gnc", "margin"), seeds=1, passes=1, points=12, error=(0.0, 0.2), refusal=(0.0, 0.5))
    run_parsing_study(small, out=out, command=["conquer", "parse", "study"])
    names = {path.name for path in out.iterdir()}
    assert {"report.md", "table.csv", "results.parquet", "curves.png", "curves.pdf"} <= names
    assert {"mistakes.png", "refusals.png"} <= names
    page = (out / "report.md").read_text()
    assert "full-supervision" in page
    assert "Annotators who err 20% and refuse 0%" in page
    assert "Annotators who err 0% and refuse 50%" in page
    frame = pl.read_parquet(out / "results.parquet").filter(pl.col("ask") == "gnc")
    assert frame.select("error", "refusal").unique().sort("error", "refusal").rows() == [(0, 0), (0, 0.5), (0.2, 0)]
    assert frame.filter(refusal=0.5)["refused"].mean() > 0.3
    assert frame.filter(refusal=0)["refused"].max() == 0


def test_what_is_refused(tmp_path, folder):
    with pytest.raises(ValueError, match="ask must be some of .*, got best"):
        study_parsing(spec(folder, ask=("gnc", "best")), tmp_path / "x")
    with pytest.raises(ValueError, match="ask must name at least one"):
        spec(folder, ask=())
    with pytest.raises(ValueError, match="seeds must be at least 1"):
        spec(folder, seeds=0)
    with pytest.raises(ValueError, match="error must be numbers separated by commas, got 'much'"):
        read(ParsingSpec, {"error": "much"})
    with pytest.raises(ValueError, match="refusal must be numbers separated by commas, got '0;1'"):
        read(ParsingSpec, {"refusal": "0;1"})
    with pytest.raises(ValueError, match=r"error must be a rate in \[0, 1\], got 2.0"):
        study_parsing(spec(folder, error=(2.0,)), tmp_path / "x")
    assert not (tmp_path / "x").exists()
    (folder / "xx_up-ud-dev.conllu.xz").unlink()
    with pytest.raises(TreebankError, match=r"expected one \*dev\*.conllu file .*found none"):
        study_parsing(spec(folder), tmp_path / "out")
