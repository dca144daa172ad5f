"""A short run of each story of crashes: what was acknowledged is there, once, in order, and nothing else is."""

import pytest
from service import cluster
from service.conftest import nursery  # noqa: F401 - a fixture

from soak import crashes, state
from soak.postgres import TwoServers
from soak.sqlite import OneServer


@pytest.mark.timeout(600)
def test_a_server_on_sqlite_is_killed_and_nothing_is_lost(nursery, tmp_path):  # noqa: F811
    found = crashes.summary(crashes.run(OneServer(nursery), tmp_path, 24, seed=1, chapters=(12, 2)))
    assert found["kills"] == found["events"] == 24
    assert found["freezes"] > 0
    assert found["acknowledged"] > 300
    assert found["lost"] == found["doubled"] == found["disordered"] == found["denied"] == 0


@pytest.mark.timeout(600)
@pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
def test_two_servers_on_postgresql_go_through_kills_freezes_stops_and_cuts(nursery, tmp_path):  # noqa: F811
    deck = ("kills", "cuts", "stops", "freezes", "cuts", "kills")
    found = crashes.summary(crashes.run(TwoServers(nursery, deck), tmp_path, 6, seed=1, chapters=(6, 1)))
    assert (found["kills"], found["cuts"], found["stops"], found["freezes"]) == (2, 2, 1, 1)
    assert found["acknowledged"] > 30
    assert found["lost"] == found["doubled"] == found["disordered"] == found["denied"] == 0


def test_a_run_that_was_stopped_goes_on(nursery, tmp_path):  # noqa: F811
    first = crashes.run(OneServer(nursery), tmp_path, 3, seed=2, chapters=(2, 2))
    both = crashes.run(OneServer(nursery), tmp_path, 5, seed=2, chapters=(2, 2))
    assert (first["events"], both["events"], both["hits"]["kills"]) == (3, 5, 5)
    assert both["checked"]["requests"] > first["checked"]["requests"]
    state.keep(tmp_path / "sqlite.json", {**both, "fault": "lost: an answer"})
    with pytest.raises(crashes.FaultError, match="lost: an answer"):
        crashes.run(OneServer(nursery), tmp_path, 6, seed=2)
