"""Options made from a dataclass: names, defaults and help texts are the fields', lists come with commas."""

import json
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from conquer.cli.options import filled, read
from conquer.study.arena.spec import ArenaSpec
from conquer.study.parsing.spec import ParsingSpec
from conquer.study.reviews.spec import Spec


@dataclass(frozen=True)
class Trip:
    """A record with every kind of field."""

    place: Path = field(metadata={"help": "Where to."})
    days: tuple[int, ...] = field(default=(1, 2), metadata={"help": "Days, comma-separated."})
    names: tuple[str, ...] | None = field(default=None, metadata={"help": "Who."})
    cost: tuple[float, ...] = field(default=(0.0, 0.5), metadata={"help": "Costs."})
    far: bool = field(default=False, metadata={"help": "Far away."})
    speed: float | None = field(default=None, metadata={"help": "How fast."})
    secret: int = 7


def said(record, *options, unset=False):
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @filled(record, unset=unset)
    def go(given, loud: bool = False) -> None:
        """Go there."""
        typer.echo(json.dumps([given, loud], default=str))

    return CliRunner().invoke(app, options)


def test_defaults_and_values():
    done = said(Trip, "--place", "here")
    plain = {"place": "here", "days": [1, 2], "cost": [0.0, 0.5], "far": False}
    assert json.loads(done.output) == [plain, False]
    done = said(Trip, "--place", "x", "--days", "3", "--names", "a, b", "--speed", "2", "--far", "--loud")
    wanted = plain | {"place": "x", "days": [3], "names": ["a", "b"], "speed": 2.0, "far": True}
    assert json.loads(done.output) == [wanted, True]


def test_what_is_not_given_may_be_left_out():
    assert json.loads(said(Trip, "--days", "4", unset=True).output) == [{"days": [4]}, False]


def test_help_and_refusals():
    page = said(Trip, "--help").output
    for words in ("Go there.", "Where to.", "[required]", "[default: 1,2]", "[default: 0,0.5]", "--far / --no-far"):
        assert words in page
    assert "secret" not in page
    assert said(Trip).exit_code == 2
    assert "days must be numbers separated by commas, got '1;2'" in str(
        said(Trip, "--place", "x", "--days", "1;2").exception
    )


@pytest.mark.parametrize("record", [Spec, ArenaSpec, ParsingSpec])
def test_the_defaults_of_a_command_are_those_of_its_record(record):
    required = {each.name: Path("here") for each in fields(record) if each.default is MISSING}
    options = [text for name, value in required.items() for text in (f"--{name}", str(value))]
    given = json.loads(said(record, *options).output)[0]
    made = record(**read(record, required))
    for name, value in given.items():
        expected = getattr(made, name)
        assert value == (
            list(expected) if isinstance(expected, tuple) else str(expected) if name in required else expected
        )


def test_only_some_fields_with_their_defaults_told():
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @filled(Trip, only=("speed", "far"), unset=True, defaults=True)
    def go(given) -> None:
        typer.echo(json.dumps(given))

    runner = CliRunner()
    page = runner.invoke(app, ["--help"]).output
    assert "Far away.  [False]" in page
    assert "--days" not in page
    assert json.loads(runner.invoke(app, []).output) == {}
    assert json.loads(runner.invoke(app, ["--no-far"]).output) == {"far": False}
    with pytest.raises(TypeError, match="Trip has no option lemon"):
        filled(Trip, only=("lemon",))(lambda given: None)
