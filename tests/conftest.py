"""Fixtures and settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests compile at once: which tier runs does not hang on how long the others took.
os.environ.setdefault("CONQUER_TIER", "compiled")

# A failing example says how to make it again; machines that decide about a change always look at the same ones.
settings.register_profile(
    "default",
    max_examples=40,
    deadline=None,
    print_blob=True,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real data, or a skip that says where it was looked for."""
    folder = Path(os.environ.get("CONQUER_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"real data is not at {folder}; set CONQUER_DATA to its folder")
    return folder
