"""The service's commands: options that fill the settings, and keys."""

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from conquer import cli
from conquer.cli.options import help_of
from conquer.service import serve as serving
from conquer.service.settings import Settings
from conquer.service.store.database import Database


def test_serve_passes_on_what_was_given(monkeypatch):
    called = []
    monkeypatch.setattr(serving, "serve", lambda **options: called.append(options))
    runner = CliRunner()
    assert runner.invoke(cli.app, ["serve"]).exit_code == 0
    assert runner.invoke(cli.app, ["serve", "--port", "9000", "--items", "a.csv", "--text", "said"]).exit_code == 0
    assert called == [
        {"items": None, "treebank": None, "text": None},
        {"port": 9000, "items": Path("a.csv"), "treebank": None, "text": "said"},
    ]


def test_serve_shows_the_defaults_of_the_settings():
    text = " ".join(CliRunner().invoke(cli.app, ["serve", "--help"]).output.split())
    for name in ("host", "port", "store"):
        assert f"--{name} <" in text
        assert f"{help_of(Settings, name)} [{getattr(Settings(), name)}]".strip() in text
    assert set(re.findall(r" --([a-z_]+)", text)) == {"host", "port", "store", "items", "text", "treebank", "help"}


def test_keys_from_the_command_line(tmp_path):
    store = ["--store", f"sqlite:///{tmp_path}/store.db"]
    runner = CliRunner()
    made = runner.invoke(cli.app, ["keys", "add", "ann", "--role", "read", "--model", "shop-*", *store])
    first, number, second, secret = made.stdout.split()
    assert (first, second) == ("id", "secret")
    assert "not shown again" in made.stderr
    assert secret.startswith("cnqr_")
    assert runner.invoke(cli.app, ["keys", "revoke", number, *store]).exit_code == 0
    listed = runner.invoke(cli.app, ["keys", "list", *store]).output
    assert listed.split() == [number, "revoked", "read", "shop-*", "ann"]


def test_a_store_without_keys_says_so(tmp_path):
    address = f"sqlite:///{tmp_path}/store.db"
    Database(address, create=True).close()
    listed = CliRunner().invoke(cli.app, ["keys", "list", "--store", address])
    assert (listed.exit_code, listed.stdout) == (0, "")
    assert "There are no keys" in listed.stderr
    assert "conquer keys add NAME --role admin" in listed.stderr


def test_a_backup_from_the_command_line(tmp_path):
    runner, copy = CliRunner(), tmp_path / "copy.db"
    store, again = f"sqlite:///{tmp_path}/store.db", f"sqlite:///{tmp_path}/again.db"
    runner.invoke(cli.app, ["keys", "add", "ann", "--role", "read", "--store", store])
    assert runner.invoke(cli.app, ["backup", str(copy), "--store", store]).output == f"{copy}: 1 rows\n"
    assert runner.invoke(cli.app, ["restore", str(copy), "--store", again]).output == "1 rows restored\n"
    assert runner.invoke(cli.app, ["erase", "ann", "--store", again]).output == "the store has no models\n"
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text(json.dumps({"kind": "open", "body": {"settings": {"algorithm": "gnr"}}}) + "\n")
    done = runner.invoke(cli.app, ["replay", str(ledger), "--name", "new", "--store", again])
    assert json.loads(done.output) == {"rounds": 0, "learnt": 0, "passed_over": {"open": 1}}
