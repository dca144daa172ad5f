"""How good parsers are is measured now and then, each by itself."""

import asyncio

from conquer.service.work import parse_results

from .conftest import run
from .test_treebanks import MADE, TREEBANK


def test_a_parser_that_cannot_be_measured_keeps_no_other_from_it(local, monkeypatch):
    due = parse_results._due

    def broken(turn):
        if turn.state.name == "a":
            raise ArithmeticError("cannot be parsed")
        return due(turn)

    async def go():
        app = local()
        async with app.running() as client:
            for name in ("a", "b"):
                await client.post("/v1/models", json={**MADE, "name": name})
                await client.post(f"/v1/models/{name}/items?held_out=1", content=TREEBANK.encode())
            for failing, alarms, measured in ((broken, ["measure:a"], [0, 1]), (due, [], [1, 1])):
                monkeypatch.setattr(parse_results, "_due", failing)
                await asyncio.get_running_loop().run_in_executor(None, app.server._measure)
                standing = [kind for kind, _ in app.server.alarms.standing()]
                assert [kind for kind in standing if kind.startswith("measure")] == alarms
                logs = [(await client.get(f"/v1/models/{name}/log")).text for name in ("a", "b")]
                assert [text.count('"kind":"measure"') for text in logs] == measured

    run(go())
