"""One story of crashes: servers under load, events that hit them, and the whole store checked every so often."""

import asyncio
import contextlib
import random
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import httpx
import numpy as np
from service.folds import loaded, rows_of, slow_fold

from conquer import saving
from conquer.service.store import log
from conquer.service.store.database import Database

from . import state
from .checker import FAULTS, check
from .clients import Crowd
from .history import History

_PATIENCE = 60.0


class Scene(Protocol):
    """What is hit: servers on a store."""

    name: str
    counts: Counter[str]

    async def open(self, folder: Path, fresh: bool) -> None:
        """Start everything on a new store, or on the one that is there."""

    def addresses(self) -> Sequence[str]:
        """The servers that take requests now."""

    async def hit(self, rng: random.Random) -> None:
        """One event; the counts say which. Afterwards all servers are there again."""

    @property
    def store(self) -> str:
        """The store's address, for a look at it without a server."""

    async def close(self) -> None:
        """End everything, the hard way."""

    def discard(self) -> None:
        """Remove the store."""


class FaultError(AssertionError):
    """The store is not what the clients were told."""


async def chapter(scene: Scene, history: History, events: int, rng: random.Random, seen: Any) -> None:
    """So many events under load; then every client finishes what it has begun."""
    crowd = Crowd(history, scene.addresses, f"{rng.randrange(1 << 40):x}")
    work = asyncio.create_task(crowd.run())
    for _ in range(events):
        enough = crowd.acknowledged + rng.randint(1, 80)
        while crowd.acknowledged < enough and not work.done():
            await asyncio.sleep(0.002)
        if work.done():
            break
        await scene.hit(rng)
        seen()
    crowd.stopping = True
    await work


def names_in(address: str) -> list[str]:
    database = Database(address)
    with contextlib.closing(database), database.reading() as connection:
        return [header.name for header in log.all_headers(connection)]


def exported(server: str, name: str) -> np.ndarray:
    """The weights in the file that a server gives out."""
    reply = httpx.get(f"{server}/v1/models/{name}/file", timeout=120)
    reply.raise_for_status()
    learner = saving.loads(reply.content)[0]
    return np.asarray(learner.model.weights())


def verify(scene: Scene, history: History) -> Counter[str]:
    """The counts of what the clients saw; a FaultError where store and clients differ."""
    names = names_in(scene.store)
    verdict = check(history.calls, {name: rows_of(scene.store, name)[1] for name in names})
    for name in names:
        state = slow_fold(scene.store, name)
        if not np.array_equal(state, loaded(scene.store, name)):
            verdict.fault("contradicted", f"{name}: snapshot and rows are not the fold of its log")
        for server in scene.addresses():
            if not _gives_out(server, name, state):
                verdict.fault("contradicted", f"{name}: the file of {server} is not the fold of its log")
    if verdict.faults:
        raise FaultError("\n".join([str(dict(verdict.counts)), *verdict.examples]))
    return verdict.counts


def _gives_out(server: str, name: str, state: np.ndarray) -> bool:
    """Whether the server's file is the fold; an undo is folded beside requests, so it may come a moment later."""
    give_up = time.monotonic() + _PATIENCE
    while not (same := np.array_equal(state, exported(server, name))) and time.monotonic() < give_up:
        time.sleep(0.05)
    return same


def run(scene: Scene, out: Path, total: int, seed: int = 0, chapters: tuple[int, int] = (100, 2)) -> dict[str, Any]:
    """`total` events in chapters of so many, so many chapters a store; goes on where an earlier run was stopped."""
    size, per_store = chapters
    path = out / f"{scene.name}.json"
    kept = state.load(path)
    if kept.get("seed") != seed:
        kept = {"seed": seed, "events": 0, "hits": {}, "checked": {}, "seconds": 0.0, "store": 0, "in_store": 0}
    if "fault" in kept:
        raise FaultError(f"{kept['fault']}\nThis run has failed; remove {path} for a new one")
    scene.counts = Counter(kept["hits"])
    progress = state.Progress(scene.name, total, kept["events"])
    # Events that nobody has checked yet, because the run was stopped in between, are checked first.
    while kept["events"] < total or kept.get("unchecked"):
        began = time.monotonic()
        folder = out / f"{scene.name}-{kept['store']}"
        fresh = kept["in_store"] == 0
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        history = History(folder / "history.jsonl")
        rng = random.Random(f"{seed} {kept['events']}")
        before = kept["seconds"]

        def seen(began: float = began, before: float = before) -> None:
            kept.update(events=kept["events"] + 1, in_store=kept["in_store"] + 1, unchecked=True)
            kept.update(hits=dict(scene.counts), seconds=before + time.monotonic() - began)
            state.keep(path, kept)
            progress.show(kept["events"], {**scene.counts, "faults": 0})

        whole = kept.get("unchecked") and kept["in_store"] % size == 0
        left = 0 if whole else min(size - kept["in_store"] % size, total - kept["events"])
        try:
            kept["current"] = dict(asyncio.run(_act(scene, history, folder, fresh, left, rng, seen)))
        except FaultError as fault:
            state.keep(path, {**kept, "fault": f"{fault}\nthe store is at {scene.store}, the history in {folder}"})
            raise
        finally:
            history.close()
        kept["unchecked"] = False
        kept["seconds"] = before + time.monotonic() - began
        if kept["in_store"] >= size * per_store or kept["events"] >= total:
            _settle(kept)
            scene.discard()
        state.keep(path, kept)
    return kept


def _settle(kept: dict[str, Any]) -> None:
    """What was counted on this store is added to the whole; the next chapter has a store of its own."""
    whole = Counter(kept["checked"])
    whole.update(kept.pop("current", {}))
    kept.update(checked=dict(whole), store=kept["store"] + 1, in_store=0)


async def _act(
    scene: Scene, history: History, folder: Path, fresh: bool, events: int, rng: random.Random, seen: Any
) -> Counter[str]:
    await scene.open(folder.absolute(), fresh)
    try:
        if events:
            await chapter(scene, history, events, rng, seen)
        # The servers go on, idle, while this process reads the store: their files are compared as well.
        return await asyncio.to_thread(verify, scene, history)
    finally:
        await scene.close()


def summary(kept: dict[str, Any]) -> dict[str, Any]:
    """What a finished run says about itself."""
    checked = Counter(kept["checked"])
    names = ("requests", "acknowledged", "refused", "indeterminate", "indeterminate_done", "indeterminate_not_done")
    return {
        "events": kept["events"],
        **kept["hits"],
        **{name: checked[name] for name in (*names, *FAULTS)},
        "seconds": round(kept["seconds"], 1),
    }
