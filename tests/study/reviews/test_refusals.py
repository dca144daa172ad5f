"""What cannot be run is refused at once: one line, exit code 2, nothing compiled, nothing heavy imported, no folder."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import json, sys
from conquer.cli import main
code = main()
heavy = [name for name in ("numba", "numpy", "polars", "matplotlib", "joblib", "distributed") if name in sys.modules]
print(json.dumps([code, heavy]))
"""


_PROC = pytest.mark.skipif(not Path("/proc").is_dir(), reason="a folder that not even root can write to")


def refused(tmp_path: Path, *options: str) -> tuple[str, list[str]]:
    """(the line said, heavy modules imported) of a real process with an empty compiler's cache."""
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", RUN, "study", "--jobs", "2", "--out", str(tmp_path / "out"), *options]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"CONQUER_CACHE": str(cache)},
        check=True,
    )
    code, heavy = json.loads(done.stdout)
    assert code == 2, done.stderr
    assert list(cache.rglob("*.nb?")) == []
    assert not (tmp_path / "out").exists()
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0], heavy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--data nope", "conquer: no such file or folder nope; data may be synthetic, digits, a folder or a file"),
        ("--data empty", "conquer: no review files in empty"),
        ("--data shops --domains nix", "conquer: unknown domain nix in shops; domains are meta, shop"),
        ("--data shops --domains meta", "conquer: shops/meta.csv: no text column"),
        ("--data shops --text x", "conquer: shops/meta.csv"),
        ("--jobs 0", "conquer: jobs must be at least 1, got 0"),
        ("--items 5,x", "conquer: items must be numbers separated by commas, got '5,x'"),
        ("--penalties 2,1", "conquer: penalties must be increasing numbers above 0, got (2.0, 1.0)"),
        ("--test 2", "conquer: test must be a share between 0 and 1, got 2.0"),
        ("--preset big", "conquer: unknown preset 'big'; presets are small, paper, ours"),
        ("--ngrams 2,1", "conquer: ngrams must be consecutive numbers from 1 to 2, got (2, 1)"),
        ("--lam 0", "conquer: lam must be a finite number in [1e-100, 1e+100], got 0"),
        ("--judge raters", "conquer: synthetic has no individual ratings for judge 'raters'"),
    ],
)
def test_at_once(options: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "shops").mkdir()
    (tmp_path / "shops" / "meta.csv").write_text("id,price\n1,2\n")
    (tmp_path / "shops" / "shop.csv").write_text("text,stars\ngood,5\n")
    line, heavy = refused(tmp_path, *options.split())
    assert line.startswith(message)
    assert heavy == []


def test_a_cluster_where_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        line, heavy = refused(tmp_path, "--cluster", address)
    assert line.startswith(f"conquer: no Dask scheduler answers at '{address}': ")
    assert heavy == []
    for address in ("tcp://127.0.0.1:port", "tcp://", "tcp://[::1"):
        line, heavy = refused(tmp_path, "--cluster", address)
        assert line.startswith(f"conquer: no Dask scheduler answers at '{address}': ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--features tf", "conquer: features must be one of binary, counts, tfidf, idf, got 'tf'"),
        ("--algorithms nobody", "conquer: unknown algorithm nobody; algorithms are paper, controls, rivals, all, ttg"),
        ("--domains nowhere", "conquer: unknown domain nowhere in synthetic; domains are android"),
        ("--reviews 7", "conquer: total must be a multiple of 5 in"),
    ],
)
def test_names_are_looked_up_but_nothing_is_compiled(options: str, message: str, tmp_path: Path) -> None:
    line, heavy = refused(tmp_path, *options.split())
    assert line.startswith(message)
    assert not {"polars", "matplotlib", "joblib", "distributed"} & set(heavy)


@pytest.mark.parametrize("place", ["taken", "taken/below", pytest.param("/proc", marks=_PROC)])
def test_a_place_to_publish_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "taken").write_text("")
    line, _ = refused(tmp_path, "--publish", place)
    assert line.startswith(f"conquer: {place}")
    assert "Errno" not in line
    assert place in line


def test_a_file_in_the_folders_place(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    line, _ = refused(tmp_path, "--out", "taken")
    assert line == "conquer: taken: file exists"
