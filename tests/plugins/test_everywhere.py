"""The example package works wherever our own algorithms do: make, files, study, arena, service, commands."""

import json

SERVICE = """
import asyncio, httpx
from conquer.service.web.app import make_app
from conquer.service.web.server import Server
from conquer.service.settings import Settings

async def main():
    server = Server(Settings(store="sqlite:///store.db"))
    client = httpx.AsyncClient(transport=httpx.ASGITransport(make_app(server)), base_url="http://localhost")
    async with server.running(), client:
        if STEP == 0:
            made = {"name": "tea", "algorithm": "winner-stays", "features": {"dim": 26, "encoder": "letters"}}
            print((await client.post("/v1/models", json=made)).status_code)
            wrong = {"name": "no", "features": {"dim": 26, "encoder": "nobody"}}
            print((await client.post("/v1/models", json=wrong)).status_code)
        items = [{"id": "a", "text": "aaa"}, {"id": "b", "text": "bbb"}, {"id": "c", "text": "ccc"}]
        for _ in range(20 if STEP == 0 else 1):
            event = (await client.post("/v1/models/tea/choose", json={"items": items})).json()
            shown = [one["id"] for one in event["shown"]]
            answer = {"winner": "a" if "a" in shown else "skip"}
            told = await client.post(f"/v1/models/tea/events/{event['event_id']}/answer", json=answer)
            assert told.status_code == 200, told.text
        print(shown[0])

asyncio.run(main())
"""


def test_made_simulated_saved_and_loaded(run):
    code = """
import numpy as np, conquer
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 6)); X /= np.linalg.norm(X, axis=1, keepdims=True)
rounds = conquer.Rounds(X, rng.integers(0, 40, (300, 5)), X @ np.eye(6)[0])
for name in ("widest", "winner-stays"):
    trace = conquer.simulate(name, rounds, judge="hasty", seed=1)
    print(name, bool(np.corrcoef(trace.learner.scores(X), X @ np.eye(6)[0])[0, 1] > 0.7))
    conquer.save(trace.learner, "a.model")
    twin = conquer.load("a.model")
    print(all(np.array_equal(twin.arrays()[k], v) for k, v in trace.learner.arrays().items()))
texts = {"a": "aaa bbb", "b": "bbb ccc", "c": "ccc ddd"}
letters = conquer.Featurizer(dim=260, encoder="letters")
session = conquer.Session(conquer.make("winner-stays", dim=260), featurizer=letters)
for _ in range(30):
    offer = session.ask(texts)
    session.tell(offer.id, "a" if "a" in offer.shown else "skip")
conquer.save(session, "a.session")
again = conquer.load("a.session")
print(again.ask(texts).shown[0], again.featurizer.encoder, again.ask(texts, context="today").shown[0])
"""
    assert run("-c", code).stdout.split("\n")[:-1] == [
        "widest True",
        "True",
        "winner-stays True",
        "True",
        "a letters a",
    ]


def test_a_file_of_it_says_what_is_missing_where_it_is_not_installed(run):
    run("-c", 'import conquer; conquer.save(conquer.make("widest", dim=3), "w.model")')
    done = run("-c", 'import conquer; conquer.load("w.model")', check=False, CONQUER_PLUGINS="off")
    assert "FileError" in done.stderr
    assert "unknown algorithm 'widest'" in done.stderr


def test_the_commands_know_it(run):
    assert "winner-stays" in run("-m", "conquer", "algorithms").stdout
    assert "step" in run("-m", "conquer", "algorithms", "winner-stays").stdout
    assert run("-m", "conquer", "check-algorithm", "winner-stays").stdout.endswith("passes every check\n")


def test_a_broken_algorithm_fails_the_check(run, offering, tmp_path):
    code = """
import conquer_plugin_example.winner_stays as ours
from conquer.extending import rival

class Moves(ours.WinnerStays):
    def pick(self, X, draws):
        self.w = self.w + 1.0
        return super().pick(X, draws)

ROW = rival("moves", "Chooses and learns at once", lambda dim, model, values: Moves(dim, 0.1))
"""
    offering(tmp_path / "beside", "hasty_author", "algorithms", "moves", "hasty_author:ROW", code)
    done = run("-m", "conquer", "check-algorithm", "moves", beside=tmp_path / "beside", check=False)
    assert done.returncode == 1
    assert "choose changed the learner: w differs" in done.stdout


def test_a_study_runs_its_algorithm_its_judge_and_its_reader(run, tmp_path):
    lines = [f"{'*' * (1 + k % 5)} {'good' if k % 5 > 2 else 'bad'} word{k % 37} word{k % 11}" for k in range(200)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tea.stars").write_text("\n".join(dict.fromkeys(lines)))
    code = """
from conquer.study.reviews.run import study
from conquer.study.reviews.command import specifications
specs = specifications("ours", data="data", algorithms=("winner-stays", "gnc"), items=(3,), repetitions=1,
                       judge="hasty", minimum=20, test_sets=20, balance="none")
print(sorted(set(study(specs, "out").results["algorithm"].to_list())))
"""
    assert run("-c", code).stdout == "['full-information', 'gnc', 'winner-stays']\n"


def test_the_arena_lets_it_in(run, tmp_path):
    asked = ["--algorithms", "widest,winner-stays", "--worlds", "linear", "--rounds", "60", "--repetitions", "1"]
    run("-m", "conquer", "arena", *asked, "--out", "arena")
    cells = json.loads((tmp_path / "arena" / "results.json").read_text())["cells"]
    assert {cell["algorithm"] for cell in cells} == {"widest", "winner-stays"}


def test_the_service_makes_it_serves_it_and_starts_again_with_it(run):
    assert run("-c", f"STEP = 0\n{SERVICE}").stdout.split() == ["201", "422", "a"]
    assert run("-c", f"STEP = 1\n{SERVICE}").stdout.split() == ["a"]
