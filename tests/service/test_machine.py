"""Duplicate, reordered, delayed, undone and crashing calls against a reference that fits on a page."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from conquer.service.engine.loading import load
from conquer.service.errors import RefusalError
from conquer.service.model.schemas import BatchAnswer, ChooseRequest, FeatureSettings, ModelSettings, Raw
from conquer.service.settings import Settings
from conquer.service.store import log
from conquer.service.web.server import Server
from conquer.service.work.decisions import decide, undo
from conquer.service.work.tasks import create

from .folds import loaded, slow_fold

ROUNDS = [
    b'[{"id":"a","vector":[1,0]},{"id":"b","vector":[0,1]}]',
    b'[{"id":"a","vector":[1,0]},{"id":"c","vector":[1,1]}]',
]
EVENTS = st.sampled_from(["e1", "e2", "e3"])
VOTERS = st.sampled_from([None, "ann", "bob"])


def one(turn, request):
    (result,) = decide(turn, [request])
    if isinstance(result, RefusalError):
        raise result
    return result


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.address = f"sqlite:///{self.folder}/store.db"
        self.open()
        made = ModelSettings(algorithm="gnr", features=FeatureSettings(dim=2))
        self.server.engine.call_now(None, lambda connection: create(connection, "m", made))
        self.chosen: dict[str, int] = {}
        self.replies: dict[str, object] = {}
        self.answers: dict[tuple[str, str | None], str] = {}
        self.learnt = 0

    def open(self) -> None:
        self.server = Server(Settings(store=self.address, snapshot_every=3))
        self.server.engine.start()

    def call(self, work, *events):
        try:
            return self.server.engine.call_now("m", work)
        except RefusalError as refusal:
            return refusal.code

    def settled(self, work):
        """What it says once the log has been folded with all that was taken back."""
        last = self.server.engine.call_now("m", lambda turn: (turn.state.id, turn.state.position))
        return self.server.engine.call_now("m", work, after=last)

    @rule(event=EVENTS, items=st.integers(0, 1))
    def choose(self, event, items):
        request = ChooseRequest(items=Raw(ROUNDS[items]), event_id=event)
        reply = self.call(lambda turn: one(turn, request), event)
        if event not in self.chosen:
            self.chosen[event], self.replies[event] = items, (reply.shown, reply.left)
        elif self.chosen[event] != items:
            assert reply == "event_exists"
            return
        assert (reply.shown, reply.left) == self.replies[event]

    @rule(event=EVENTS, voter=VOTERS, winner=st.sampled_from(["a", "tie", "skip", "nobody"]))
    def answer(self, event, voter, winner):
        reply = self.call(lambda turn: one(turn, BatchAnswer(winner, voter, event_id=event)), event)
        standing = self.answers.get((event, voter))
        if event not in self.chosen:
            assert reply == "unknown_event"
        elif standing is not None:
            assert reply == "answered" if standing != winner else reply.status == "repeat"
        elif winner == "nobody":
            assert reply == "invalid"
        else:
            assert reply.status == ("ignored" if winner == "skip" else "learnt")
            self.answers[event, voter] = winner
            self.learnt += winner != "skip"

    @rule(event=EVENTS, voter=VOTERS)
    def undo(self, event, voter):
        reply = self.call(lambda turn: undo(turn, event, voter), event)
        if event not in self.chosen:
            assert reply == "unknown_event"
        elif (event, voter) not in self.answers:
            assert reply == "not_answered"
        else:
            assert reply.reason == "undone"
            self.learnt -= self.answers.pop((event, voter)) != "skip"

    @rule(event=EVENTS)
    def crash_before_the_commit(self, event):
        """The model has learnt, then the transaction fails: memory must not keep what the disk does not have."""

        def work(turn):
            one(turn, BatchAnswer("tie", "carl", event_id=event))
            raise OSError("the disk is gone")

        if event in self.chosen:
            assert self.call(work, event) == "storage"

    @rule()
    def forget(self):
        """Only what is in memory is lost."""
        self.server.engine.call_now(None, lambda _: self.server.engine.models.clear())

    @rule()
    def restart(self):
        self.server.engine.stop()
        self.server.database.close()
        self.open()

    @invariant()
    def counts_agree(self):
        tally = self.settled(lambda turn: turn.state.tally)
        assert tally.learnt == self.learnt
        assert tally.rounds == len(self.chosen)
        with self.server.database.reading() as connection:
            header = log.headers(connection, ["m"])["m"]
            assert load(connection, header, self.server.engine.build).tally == tally

    def teardown(self) -> None:
        weights = self.settled(lambda turn: turn.state.learner.learner.model.weights())
        self.server.engine.stop()
        self.server.database.close()
        assert np.array_equal(weights, slow_fold(self.address, "m"))
        assert np.array_equal(weights, loaded(self.address, "m"))
        shutil.rmtree(self.folder)


Machine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    print_blob=True,
)
TestMachine = Machine.TestCase
