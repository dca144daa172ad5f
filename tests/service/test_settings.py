"""What an operator sets: flags before the environment before the defaults, and a clear word on a wrong value."""

from dataclasses import fields

import pytest

from conquer.service.settings import Settings


def test_flags_come_before_the_environment_and_that_before_the_defaults():
    environ = {"CONQUER_PORT": "9000", "CONQUER_HOST": "0.0.0.0", "CONQUER_READ_SECONDS": "2", "PORT": "1"}
    found = Settings.from_environment(environ, port=7, store=None)
    assert (found.port, found.host, found.read_seconds) == (7, "0.0.0.0", 2.0)
    assert isinstance(found.read_seconds, float)
    assert found.store == Settings().store


@pytest.mark.parametrize(("text", "value"), [("1", True), ("0", False), ("true", True), ("False", False)])
def test_yes_and_no(text, value):
    assert Settings.from_environment({"CONQUER_ACCESS_LOG": text}).access_log is value


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("PORT", "high", "int"),
        ("PORT", "", "int"),
        ("PORT", "80.5", "int"),
        ("READ_SECONDS", "soon", "float"),
        ("ACCESS_LOG", "yes", "0, 1, true or false"),
    ],
)
def test_a_wrong_value_is_named(name, text, kind):
    with pytest.raises(ValueError, match=f"^CONQUER_{name} must be {kind}, got '{text}'$"):
        Settings.from_environment({f"CONQUER_{name}": text})


def test_every_setting_can_come_from_the_environment():
    for field in fields(Settings):
        text = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        assert Settings.from_environment({f"CONQUER_{field.name.upper()}": text}) == Settings()


def test_a_largest_round_is_not_refused_for_its_cells():
    assert Settings().cells == 1_000_000
    assert Settings(round_bytes=64 << 20).cells == 4 << 20


@pytest.mark.parametrize(("name", "value"), [("batch", 0), ("batch", -1)])
def test_what_would_never_do_anything_or_never_rest_is_refused(name, value) -> None:
    """Batches of nothing leave everybody waiting."""
    with pytest.raises(ValueError, match=name):
        Settings(**{name: value})
