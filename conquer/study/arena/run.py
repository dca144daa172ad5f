"""The arena: every algorithm in every world, tuned apart, compared on the same repetitions."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conquer.study.arena.contenders import contender, names_of
from conquer.study.arena.games import cell
from conquer.study.arena.page import write_arena_page
from conquer.study.arena.ranking import parts, thinned, verdicts
from conquer.study.arena.spec import ArenaSpec
from conquer.study.arena.worlds import PRESETS, SETTINGS, ArenaPreset, Setting
from conquer.study.backends import Backend, serial
from conquer.study.cells.output import write_text
from conquer.study.cells.runner import CellTask, missing, run
from conquer.study.cells.store import Cells, Row, key
from conquer.study.progress import QUIET, RUNNING, StudyProgress

_METHOD = 2
"""Counts up where the same contender gives other numbers, so that no cell of an older method is taken for a new one."""
_COMPILED, _CALLED, _RIVAL, _KERNEL = 0.02, 0.2, 1.0, 10.0
"""Milliseconds of a round, by how it is met; and how many times that where the model is a kernel's."""
_REGRETS = {"Regret of the better shown": "weak", "Regret of both shown": "strong"}


@dataclass(frozen=True, slots=True)
class Match:
    """One cell: an algorithm in a world. The world goes by name and length, for its builder cannot travel."""

    world: str
    rounds: int
    algorithm: str
    seed: int
    repetitions: int

    @property
    def setting(self) -> Setting:
        return replace(SETTINGS[self.world], rounds=self.rounds)

    @property
    def name(self) -> str:
        """What the cell's numbers depend on."""
        entry, setting = contender(self.algorithm), self.setting
        fixed = [entry.options(setting), *entry.grid]
        options = {"seed": self.seed, "repetitions": self.repetitions}
        return key("arena", _METHOD, _described(setting), self.algorithm, fixed, options)

    @property
    def cost(self) -> float:
        """Rounds to be met, each as long as it takes, about: so the time left falls evenly."""
        setting, entry = self.setting, contender(self.algorithm)
        tuning = setting.tuning * setting.share * len(entry.grid) if len(entry.grid) > 1 else 0
        compiled = entry.ours and not setting.fixed and self.world != "corrupted"
        one = _COMPILED if compiled else _CALLED if entry.ours else _RIVAL
        return setting.rounds * (one * (self.repetitions + tuning) + _CALLED) * (_KERNEL if setting.kernel else 1.0)


def _described(setting: Setting) -> dict[str, Any]:
    return {name: getattr(setting, name) for name in ("name", "rounds", "items", "dim", "tuning", "share")}


def settings_of(spec: ArenaSpec) -> list[Setting]:
    """The worlds of an arena.

    >>> [setting.rounds for setting in settings_of(ArenaSpec(worlds=("linear", "arms"), rounds=60))]
    [60, 60]
    """
    preset = _preset(spec)
    if unknown := [name for name in preset.worlds if name not in SETTINGS]:
        raise ValueError(f"no world {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    rounds = spec.rounds or preset.rounds
    return [replace(SETTINGS[name], rounds=rounds or SETTINGS[name].rounds) for name in preset.worlds]


def _preset(spec: ArenaSpec) -> ArenaPreset:
    """What a specification does not say itself."""
    if spec.worlds is not None:
        return ArenaPreset(spec.worlds)
    if spec.preset not in PRESETS:
        raise ValueError(f"no preset {spec.preset!r}; there are {', '.join(PRESETS)}")
    return PRESETS[spec.preset]


def matches_of(spec: ArenaSpec) -> list[Match]:
    """Every cell of an arena, world by world."""
    names = names_of(spec.algorithms or _preset(spec).algorithms)
    return [
        Match(setting.name, setting.rounds, name, spec.seed, spec.repetitions)
        for setting in settings_of(spec)
        for name in names
        if contender(name).fits(setting)
    ]


def meet_all(match: Match) -> list[Row]:
    """The cell of one match."""
    return [cell(match.setting, match.algorithm, seed=match.seed, repetitions=match.repetitions)]


def study_arena(spec: ArenaSpec, out: str | Path, backend: Backend = serial, progress: StudyProgress = QUIET) -> Path:
    """Run what is missing, write `out`/results.json, verdicts.md and the page arena.html; returns the page's path."""
    matches = matches_of(spec)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    cells = Cells(folder / "cells")
    names = [match.name for match in matches]
    tasks = [CellTask(match, (name,), match.cost) for match, name in zip(matches, names, strict=True)]
    rows = run(meet_all, missing(tasks, cells), cells, RUNNING, backend, progress)
    found = [rows[name] for name in names]
    worlds = {setting.name: {"text": setting.text, **_described(setting)} for setting in settings_of(spec)}
    settings = {"seed": spec.seed, "repetitions": spec.repetitions, "worlds": worlds}
    lines = ",\n".join(json.dumps(row) for row in thinned(found))
    write_text(folder / "results.json", f'{{"settings": {json.dumps(settings)},\n"cells": [\n{lines}\n]}}\n')
    tables = "\n\n".join(
        f"{part}. {title}:\n\n{verdicts(rows, regret)}"
        for part, rows in parts(found).items()
        for title, regret in _REGRETS.items()
    )
    write_text(folder / "verdicts.md", tables + "\n")
    return write_arena_page(folder)
