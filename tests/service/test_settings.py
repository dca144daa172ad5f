"""What an operator sets: flags before the environment before the defaults, and a clear word on a wrong value."""

import random
from dataclasses import fields

import pytest

from conquer.service.errors import RefusalError
from conquer.service.model.reading import Reader
from conquer.service.model.schemas import FeatureSettings
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


@pytest.mark.parametrize(("digits", "columns", "fits"), [(16, 650, True), (16, 1300, True), (1, 1300, False)])
def test_a_largest_round_of_numbers_with_all_their_digits_is_not_refused_for_its_cells(digits, columns, fits):
    """A thousand vectors, for a server with rounds of 12 or of 24 MB; one of short numbers has more cells."""
    rng = random.Random(0)
    numbers = [f"{1 + 8 * rng.random():.{digits}f}" for _ in range(1000 * columns)]
    rows = (",".join(numbers[k : k + columns]) for k in range(0, len(numbers), columns))
    items = "[" + ",".join(f'{{"id":"i{k}","vector":[{row}]}}' for k, row in enumerate(rows)) + "]"
    limits = Settings(round_bytes=(12 if columns < 1000 else 24) << 20)
    assert len(items) <= limits.round_bytes
    assert len(items) > 0.9 * limits.round_bytes or not fits
    reader = Reader(FeatureSettings(dim=2048), limits)
    if fits:
        assert reader.read(items.encode(), b"null", limits.cells).cells >= len(numbers)
    else:
        with pytest.raises(RefusalError, match="fit in"):
            reader.read(items.encode(), b"null", Settings().cells)


@pytest.mark.parametrize(("name", "value"), [("batch", 0), ("batch", -1)])
def test_what_would_never_do_anything_or_never_rest_is_refused(name, value) -> None:
    """Batches of nothing leave everybody waiting."""
    with pytest.raises(ValueError, match=name):
        Settings(**{name: value})
