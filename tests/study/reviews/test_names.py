"""Domains whose names have spaces, capitals and an ampersand, from the command line to the page."""

import sys
from pathlib import Path

import polars as pl
import pytest

from conquer.cli import main
from conquer.metrics import unique_best

NAMES = ["movies & TV", "MP3"]


def test_names_as_the_paper_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    options = (
        "--preset paper --rounds training --reviews 8250 --items 3,4 --algorithms gnc,random --repetitions 1 "
        "--test-sets 50 --jobs 1"
    )
    given = ["--domains", "movies & TV, MP3", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["conquer", "study", *options.split(), *given])
    assert main() == 0
    results = pl.read_parquet(out / "results.parquet")
    assert sorted(results["domain"].unique().to_list()) == sorted(NAMES)
    page = (out / "report.html").read_text()
    assert "<td>movies &amp; TV</td>" in page
    assert "movies & TV" not in page.replace("&amp;", "")
    table = (out / "tables" / "silence.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in table[2:]] == [
        "| movies & TV",
        "| MP3",
        "| mean",
        "| a single best item",
    ]
    safe = set("abcdefghijklmnopqrstuvwxyz0123456789_-.")
    assert all(set(path.name) <= safe for path in out.rglob("*"))
    for items in (3, 4):
        share = results.filter(pl.col("items") == items)["unique_in_sets"].drop_nulls()
        assert share.mean() == pytest.approx(unique_best([50] * 5, items), abs=0.08)
