"""Options from a dataclass: one per field, with its type, default and help; the command gets what they fill."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from conquer import cli
from conquer.cli.options import help_of, options_of
from conquer.service import serve as serving
from conquer.service.settings import Settings


@dataclass(frozen=True)
class Tea:
    kind: str
    minutes: int = field(default=3, metadata={"help": "How long."})
    sugar: bool = False
    milk: float | None = None
    tags: list[str] = field(default_factory=list)
    out: Path = Path("cup")


def invoke(command, *arguments):
    app = typer.Typer(rich_markup_mode=None)
    app.command()(command)
    return CliRunner().invoke(app, arguments)


def test_the_command_gets_an_instance():
    found = []

    @options_of(Tea)
    def brew(tea: Tea, place: Annotated[str, typer.Argument()], loud: bool = False) -> None:
        found.append((tea, place, loud))

    done = invoke(brew, "here", "--kind", "green", "--minutes", "5", "--sugar", "--tags", "a", "--tags", "b")
    assert done.exit_code == 0, done.output
    assert found == [(Tea("green", 5, True, None, ["a", "b"]), "here", False)]
    assert invoke(brew, "here").exit_code == 2, "a field without a default is a required option"
    assert invoke(brew, "here", "--kind", "x", "--minutes", "long").exit_code == 2


def test_only_some_fields_with_other_help():
    found = []

    @options_of(Tea, only=("minutes", "kind"), help={"kind": "Which."})
    def brew(tea: Tea) -> None:
        """Brew it."""
        found.append(tea)

    text = invoke(brew, "--help").output
    assert re.search(r"--minutes <int>\s+How long\.\s+\[default: 3\]", text), text
    assert re.search(r"--kind <str>\s+Which\.", text), text
    assert "Brew it." in text
    assert "--sugar" not in text
    invoke(brew, "--kind", "black")
    assert found == [Tea("black")]
    with pytest.raises(TypeError, match="Tea has no field 'lemon'"):
        options_of(Tea, only=("lemon",))


def test_only_what_was_given():
    found = []

    @options_of(Tea, only=("minutes", "sugar", "milk", "out"), given=True)
    def brew(tea: dict) -> None:
        found.append(tea)

    invoke(brew)
    invoke(brew, "--minutes", "3", "--no-sugar", "--out", "mug")
    assert found == [{}, {"minutes": 3, "sugar": False, "out": Path("mug")}]
    assert re.search(r"How long\.\s+\[3\]", invoke(brew, "--help").output)


def test_serve_passes_on_what_was_given(monkeypatch):
    called = []
    monkeypatch.setattr(serving, "serve", lambda **options: called.append(options))
    runner = CliRunner()
    assert runner.invoke(cli.app, ["serve"]).exit_code == 0
    assert runner.invoke(cli.app, ["serve", "--port", "9000", "--items", "a.csv"]).exit_code == 0
    assert called == [
        {"items": None, "treebank": None},
        {"port": 9000, "items": Path("a.csv"), "treebank": None},
    ]


def test_serve_shows_the_defaults_of_the_settings():
    text = " ".join(CliRunner().invoke(cli.app, ["serve", "--help"]).output.split())
    for name in ("host", "port", "store"):
        assert f"--{name} <" in text
        assert f"{help_of(Settings, name)} [{getattr(Settings(), name)}]".strip() in text
    assert set(re.findall(r" --([a-z_]+)", text)) == {"host", "port", "store", "items", "treebank", "help"}


def test_keys_from_the_command_line(tmp_path):
    store = ["--store", f"sqlite:///{tmp_path}/store.db"]
    runner = CliRunner()
    made = runner.invoke(cli.app, ["keys", "add", "ann", "--role", "read", "--model", "shop-*", *store])
    number, secret = made.output.split()
    assert secret.startswith("cnqr_")
    assert runner.invoke(cli.app, ["keys", "revoke", number, *store]).exit_code == 0
    listed = runner.invoke(cli.app, ["keys", "list", *store]).output
    assert listed.split() == [number, "revoked", "read", "shop-*", "ann"]


def test_a_backup_from_the_command_line(tmp_path):
    runner, copy = CliRunner(), tmp_path / "copy.db"
    store, again = f"sqlite:///{tmp_path}/store.db", f"sqlite:///{tmp_path}/again.db"
    runner.invoke(cli.app, ["keys", "add", "ann", "--role", "read", "--store", store])
    assert runner.invoke(cli.app, ["backup", str(copy), "--store", store]).output == f"{copy}: 1 rows\n"
    assert runner.invoke(cli.app, ["restore", str(copy), "--store", again]).output == "1 rows restored\n"
    assert runner.invoke(cli.app, ["erase", "ann", "--store", again]).output == ""
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text(json.dumps({"kind": "open", "body": {"settings": {"algorithm": "gnr"}}}) + "\n")
    done = runner.invoke(cli.app, ["replay", str(ledger), "--name", "new", "--store", again])
    assert json.loads(done.output) == {"rounds": 0, "learnt": 0, "passed_over": {"open": 1}}
