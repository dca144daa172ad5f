"""What the shell says: a version, and one plain line for every mistake."""

import contextlib
import logging
import socket
import sys
from collections.abc import Iterator
from importlib import metadata

import pytest

from conquer import cli
from conquer.models.full import Full
from conquer.service import serve as serving
from conquer.service.model.schemas import NewModel, decoder, in_words
from conquer.study.arena.run import matches_of
from conquer.study.arena.spec import ArenaSpec


def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["conquer", *words])
    status = cli.main()
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_the_version(monkeypatch, capsys):
    assert told(monkeypatch, capsys, "--version") == (0, f"conquer {metadata.version('conquer-bandits')}\n")


@pytest.fixture
def taken() -> Iterator[str]:
    """A port that something else listens at."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield str(other.getsockname()[1])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["serve", "--port", "99999"], "port must be a number from 0 to 65535, got 99999"),
        (["serve", "--host", "no.such.host.invalid"], "--host must be an address of this machine"),
        (["serve", "--port", "TAKEN", "--store", "STORE"], "cannot listen at 127.0.0.1 port TAKEN (address already in"),
        (["serve", "--items", "gone.csv", "--port", "0", "--store", "STORE"], "gone.csv: no such file or directory"),
        (["keys", "list", "--store", "postgresql://u@h:abc/x"], "a store is sqlite:///FILE or postgresql://"),
        (
            ["keys", "list", "--store", "sqlite:////gone/away/x.db"],
            "there is no store /gone/away/x.db; say which with --store",
        ),
        (["replay", "LEDGER", "--name", "a b", "--store", "STORE"], "a model's name is 1 to 64 letters, digits"),
        (["replay", "gone.jsonl", "--name", "a"], "gone.jsonl: no such file or directory"),
        (["replay", "LEDGER", "--name", "a", "--parameters", "{x"], "--parameters must be JSON"),
        (["parse", "evaluate", "gone.conllu", "also.conllu"], "gone.conllu: no such file or directory"),
        (["study", "--data", "gone"], "no such file or folder gone"),
        (["study", "--scale", "ten"], "a scale is two numbers, the lower first, such as 1:10; got 'ten'"),
    ],
)
def test_mistakes_are_one_plain_line(monkeypatch, capsys, tmp_path, taken, words, line):
    (tmp_path / "ledger.jsonl").write_text('{"kind": "open", "body": {"settings": {"algorithm": "gnr"}}}\n')
    places = {"STORE": f"sqlite:///{tmp_path}/s.db", "LEDGER": str(tmp_path / "ledger.jsonl"), "TAKEN": taken}
    monkeypatch.chdir(tmp_path)
    handlers, interval = logging.root.handlers[:], sys.getswitchinterval()
    status, said = told(monkeypatch, capsys, *(places.get(word, word) for word in words))
    assert status == 2
    assert (logging.root.handlers, sys.getswitchinterval()) == (handlers, interval), "nothing has been set up"
    assert said.startswith(f"conquer: {line.replace('TAKEN', taken)}")
    assert said.count("\n") == 1
    assert words[0] == "replay" or not (tmp_path / "s.db").exists(), "a refused start leaves no store"
    assert "Errno" not in said
    assert "invalid literal" not in said


def test_a_full_model_that_does_not_fit_says_how_large_it_is():
    with pytest.raises(MemoryError, match=r"dim 10000000 needs 800,000 GB: take model='diagonal', or a smaller dim"):
        Full(10_000_000)


def test_no_refusal_shows_a_pattern():
    for body in (b'{"name": "a b"}', b'{"name": ""}'):
        with pytest.raises(ValueError, match="Expected") as caught:
            decoder(NewModel)(body)
        assert "regex" not in in_words(str(caught.value))
    said = in_words('Expected `str` matching regex "^[^\\\\x00/?#\'x]+$" - at `$.voter`')
    assert said == (
        "Expected `str` without control characters, slashes, backslashes, ? and #, and not . or .. alone - at `$.voter`"
    )


def test_a_small_arena_is_the_papers_and_two_rivals_in_three_worlds():
    """About two minutes on two cores: the work is less than a twentieth of all nine worlds'."""
    small, whole = (matches_of(ArenaSpec(preset=name)) for name in ("small", "worlds"))
    assert {match.world for match in small} == {"linear", "logistic", "arms"}
    assert {match.rounds for match in small} == {500}
    assert {"gnc", "random", "colstim", "pairucb"} <= {match.algorithm for match in small}
    assert sum(match.cost for match in small) < sum(match.cost for match in whole) / 20


def test_a_name_given_twice_for_one_address_is_listened_at_once(monkeypatch):
    found = socket.getaddrinfo("127.0.0.1", 0, type=socket.SOCK_STREAM)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = [(*one[:4], ("127.0.0.1", port)) for one in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: places * 2)
    with contextlib.ExitStack() as stack:
        assert len(serving._listen("localhost", port, stack)) == 1
