"""Studies at their edges: one algorithm, damaged cells, Ctrl-C, uneven stars, settings that mean nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from study.studies import judge, numbers, tiny

from conquer.study.reviews import report, tables
from conquer.study.reviews.command import run_study, specifications
from conquer.study.reviews.run import study
from conquer.study.reviews.spec import CEILING, Spec


@pytest.mark.parametrize("name", ["ttg", "random"])
def test_one_algorithm_is_a_study(name: str, tmp_path: Path) -> None:
    finished = study(tiny(domains=("android",), algorithms=(name,), repetitions=1), tmp_path)
    page = report.write(finished, "conquer study").read_text()
    assert tables.all_tables(finished.results)["one_versus_one"]["beat"].to_list() == [name, CEILING]
    assert name in page
    assert "makes no mistake" not in page


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("model", "ful", "model must be one of diagonal, full, kernel, got 'ful'"),
        ("update", "nope", "update must be one of implicit, margin, coordinate, got 'nope'"),
        ("judge", "nope", "judge must be one of .*raters.*, got 'nope'"),
    ],
)
def test_misspelt_settings_are_refused_before_any_work(field: str, value: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Spec(**{field: value})


def test_digits_have_their_own_rounds() -> None:
    assert {spec.items for spec in specifications("small", data="digits")} == {(10,)}
    with pytest.raises(ValueError, match=r"items must be \(10,\), got \(5,\)"):
        specifications("small", data="digits", items=(5,))


def test_a_cell_cut_short_is_computed_again(tmp_path: Path) -> None:
    spec = tiny(domains=("android",), algorithms=("ttg",), repetitions=1)
    before = study(spec, tmp_path)
    for path in sorted((tmp_path / "cells").rglob("*.json"))[:3]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert numbers(study(spec, tmp_path).results) == numbers(before.results)


def test_the_folder_may_be_relative_to_where_no_worker_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def wandering(function, tasks):
        os.chdir(tmp_path / "elsewhere")
        found = [(i, function(task)) for i, task in enumerate(tasks)]
        os.chdir(tmp_path)
        return found

    study(tiny(domains=("android",), algorithms=("ttg",), repetitions=1), "out", wandering)
    assert (tmp_path / "out" / "results.parquet").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_diverged_everywhere_is_reported(tmp_path: Path) -> None:
    finished = study(tiny(domains=("android",), repetitions=1), tmp_path)
    silent = pl.when(pl.col("algorithm") == "gnc").then(None).otherwise(pl.col("query_rate")).alias("query_rate")
    results = finished.results.with_columns(silent)
    assert any("diverged" in claim.evidence for claim in judge(results))
    tables.all_tables(results)


def test_unreadable_rows_of_domains_left_out_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    words = ["good", "fine", "so so", "poor", "awful"]
    many = [{"text": f"{words[i % 5]} thing number {i}", "stars": 5 - i % 5} for i in range(400)]
    few = [*many[:30], *({"text": "x", "stars": "none"} for _ in range(70))]
    for name, rows in (("many", many), ("few", few)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run_study(
        data=str(folder),
        items=(3,),
        algorithms=("ttg",),
        repetitions=1,
        test_sets=50,
        minimum=100,
        allow_unreadable=True,
        out=tmp_path / "out",
    )
    assert "left out few" in (said := " ".join(capsys.readouterr().out.split()))
    assert "(70 rows unreadable: " in said
    assert "few.jsonl, line 31: " in (tmp_path / "out" / "report.html").read_text()


def test_files_without_reviews_are_left_out_and_columns_may_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    rows = [f"{'good' if i % 2 else 'bad'} thing {i},{5 if i % 2 else 1}" for i in range(300)]
    (folder / "shop.csv").write_text("\n".join(["opinion,grade", *rows]) + "\n")
    (folder / "meta.csv").write_text("id,price\n1,2\n")
    (folder / "notes.odt").write_bytes(b"x")
    spec = Spec(data=str(folder), items=(3,), algorithms=("ttg",), repetitions=1, test_sets=50, minimum=100)
    with pytest.raises(ValueError, match=r"no domain is left to study: .*shop.csv"):
        study(spec, tmp_path / "out")
    finished = study(replace(spec, text="opinion", rating="grade"), tmp_path / "out")
    assert set(finished.left_out) == {"meta", "notes.odt"}
    assert "meta.csv" in finished.left_out["meta"]
    assert set(finished.results["domain"]) == {"shop"}


def test_uneven_stars_are_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": f"{'good' if i % 3 else 'bad'} thing {i}", "stars": 5 if i % 3 else 1} for i in range(300)]
    (tmp_path / "shop.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows, {"text": "q", "stars": 4.5}])
    )
    run_study(
        data=str(tmp_path / "shop.jsonl"), items=(3,), algorithms=("ttg",), repetitions=1, test_sets=50, minimum=100,
        out=tmp_path / "out",
    )  # fmt: skip
    assert "not balanced: ratings are fractional or have more than 11 distinct values: shop" in " ".join(
        capsys.readouterr().out.split()
    )


def test_few_reviews_are_tuned_on_smaller_sets(tmp_path: Path) -> None:
    rows = [{"text": f"{'good' if i % 2 else 'bad'} thing {i}", "stars": 5 if i % 2 else 1} for i in range(100)]
    (tmp_path / "shop.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = Spec(
        data=str(tmp_path / "shop.jsonl"), items=(3,), algorithms=("ttg",), repetitions=1, test_sets=50, minimum=50
    )
    assert study(spec, tmp_path / "out").results.height == 2


def test_ngrams_may_share_columns(tmp_path: Path) -> None:
    spec = tiny(domains=("android",), items=(3,), algorithms=("ttg",), repetitions=1)
    plain = study(spec, tmp_path).results
    few, many = (study(replace(spec, hashing=bits), tmp_path).results for bits in (4, 20))
    assert few["features_seen"].max() <= 16
    assert many["features_seen"].max() > 0.98 * plain["features_seen"].max()
    ceilings = [frame.filter(pl.col("algorithm") == CEILING)["error"][0] for frame in (few, plain)]
    assert ceilings[0] > ceilings[1]
    with pytest.raises(ValueError, match="hashing must be 4 to 25 bits, got 40"):
        replace(spec, hashing=40)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_it_says_how_to_go_on_and_does(jobs: str, tmp_path: Path) -> None:
    options = ["--data", "synthetic", "--domains", "android,clothing", "--reviews", "8250", "--items", "3,4",
               "--repetitions", "6", "--test-sets", "60", "--algorithms", "ttg,gnc", "--preset", "ours", "--jobs", jobs,
               "--out", str(tmp_path / "out")]  # fmt: skip
    command = [sys.executable, "-m", "conquer", "study", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list((tmp_path / "out" / "cells").rglob("*.json")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    if process.returncode != 0:  # it may have been faster than the signal
        assert process.returncode == 130
        assert "run the same command to continue" in said
        assert "Traceback" not in said
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole = study(
        specifications(
            "ours", domains=("android", "clothing"), reviews=8250, items=(3, 4), repetitions=6, test_sets=60,
            algorithms=("ttg", "gnc"),
        ),
        tmp_path / "whole",
    )  # fmt: skip
    assert numbers(pl.read_parquet(tmp_path / "out" / "results.parquet")) == numbers(whole.results)
