"""`python -m benchmarks.crowds`: what fits make of careless voters, judges, lengths and few votes."""

import csv
import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import typer

from benchmarks.arguments import Topic
from benchmarks.votes import ARGUMENTS, CROWD
from conquer.cli.study import Publish
from conquer.data.votes import Vote, read_votes
from conquer.features.featurizer import Featurizer
from conquer.fitting.style import without_style
from conquer.fitting.warm_start import fit
from conquer.session import Session
from conquer.study.output import write_text
from conquer.types import Floats

ARENA = "arena/people.jsonl.gz"
JUDGES = {"LLMFAO": (CROWD, "llmfao/gpt4-comparisons.csv.gz"), "arena": (ARENA, "arena/gpt4.jsonl.gz")}
SEEDS, PANELS = range(100, 110), range(100, 140)
"""Development used others."""
DEVELOPMENT = 8
"""Topics, the first by the hash of their files' names, on which the defaults of texts were chosen."""
Row = dict[str, Any]


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return [*(f"| {' | '.join(map(str, line))} |" for line in lines), ""]


def unseen(files: Sequence[Path], topics: Sequence[Topic], **options: Any) -> list[int]:
    """For each topic, how many of its votes a fit to all other topics predicts."""
    right = []
    for path, topic in zip(files, topics, strict=True):
        session = fit([other for other in files if other != path], **options)
        assert session.featurizer is not None
        right.append(_right(topic, session.learner.scores(session.featurizer(topic.texts))))
    return right


def arguments(folder: Path) -> list[list[str]]:
    """Votes on unseen topics predicted by `conquer.fit` as it comes, and with one default taken away."""
    files = sorted((folder / ARGUMENTS).glob("*.csv*"))
    topics = [Topic(path) for path in files]
    plain = Featurizer(dim=2**20)
    ways: dict[str, Row] = {
        "as it comes": {},
        "without the length": {"featurizer": plain},
        "lam = 1": {"lam": 1.0},
        "without the length, lam = 1": {"featurizer": plain, "lam": 1.0},
    }
    rows = [[name, *_shares(topics, unseen(files, topics, **options))] for name, options in ways.items()]
    lengths = [_right(topic, np.array([len(text) for text in topic.texts], float)) for topic in topics]
    return [*rows, ["the longer one wins", *_shares(topics, lengths)]]


def _right(topic: Topic, scores: Floats) -> int:
    return int((scores[topic.pairs[0]] > scores[topic.pairs[1]]).sum())


def _shares(topics: Sequence[Topic], right: Sequence[int]) -> list[str]:
    """Of all votes, of those on topics that were not used for development, and the mean over all topics."""
    votes = np.array([topic.pairs.shape[1] for topic in topics])
    order = sorted(range(len(topics)), key=lambda k: blake2b(f"{topics[k].name}.csv.gz".encode()).digest())
    rest = order[DEVELOPMENT:]
    return [f"{sum(right) / votes.sum():.3f}", f"{sum(right[k] for k in rest) / votes[rest].sum():.3f}",
            f"{np.mean(np.divide(right, votes)):.3f}"]  # fmt: skip


def planted(seed: int, share: float, voters: int, adverse: bool) -> tuple[list[Row], Floats]:
    """(2,000 votes on ten items, their worth): this share of the voters toss coins, or vote against their worth."""
    rng = np.random.default_rng(seed)
    worth = np.linspace(-1, 1, 10)[rng.permutation(10)]
    votes = []
    for number in range(2000):
        one, two = rng.choice(10, 2, replace=False)
        voter = int(rng.integers(voters))
        expected = (worth[one] - worth[two]) / 2
        if voter < share * voters:
            expected *= -1 if adverse else 0
        votes.append({"first": f"i{one}", "second": f"i{two}", "voter": f"v{voter}", "question_id": number,
                      "answer": 1.0 if rng.random() < (1 + expected) / 2 else -1.0})  # fmt: skip
    return votes, worth


def careless() -> Iterator[list[str]]:
    """The error of the scores of planted crowds, by how their votes are weighed."""
    for share, voters, adverse in [(0, 20, False), (0.2, 20, False), (0.5, 20, False), (0.3, 100, False),
                                   (0.2, 20, True)]:  # fmt: skip
        found: dict[str, list[float]] = {"alike": [], "once": [], "revised": [], "oracle": []}
        for seed in SEEDS:
            votes, worth = planted(seed, share, voters, adverse)
            with patch("conquer.fitting.revision.REVISIONS", 0):
                found["once"].append(_error(fit(votes, believe="voters"), worth))
            found["revised"].append(_error(fit(votes, believe="voters"), worth))
            found["alike"].append(_error(fit(votes), worth))
            found["oracle"].append(_error(fit([v for v in votes if int(v["voter"][1:]) >= share * voters]), worth))
        what = f"{share:.0%} of {voters} {'vote against worth' if adverse else 'toss coins'}"
        yield [what, *(f"{np.mean(errors):.3f}" for errors in found.values())]


def _error(session: Session, worth: Floats) -> float:
    scores = session.scores()
    return float(np.std(np.array([scores[f"i{k}"] for k in range(worth.size)]) - worth))


def judges(folder: Path, people: int = 1000, repetitions: int = 4) -> Iterator[list[str]]:
    """The error, at the best slope, on held-out people's votes of some people's votes with a judge's."""
    for name, (one, other) in JUDGES.items():
        votes = list(read_votes(folder / one))
        judged = [_row(vote, k + 10**6, "judge") for k, vote in enumerate(read_votes(folder / other))][:3000]
        found: dict[str, list[float]] = {}
        tastes, worths, fixed = [], [], []
        for seed in range(100, 100 + repetitions):
            order = np.random.default_rng(seed).permutation(len(votes))
            held_out = [votes[k] for k in order[: len(votes) // 2]]
            rows = [_row(votes[k], int(k), "person") for k in order[len(votes) // 2 :]]
            some = rows[:people]
            sessions = {"people": fit(some, believe="people"), "2": fit(rows[: 2 * people], believe="people"),
                        "0.5": fit(some + judged, believe="people", taste=0.5),
                        "chosen": fit(some + judged, believe="people")}  # fmt: skip
            for label, session in sessions.items():
                found.setdefault(label, []).append(_held_out_error(session, held_out))
            half: Any = sessions["0.5"].learner
            fixed.append(half.worth())
            learner: Any = sessions["chosen"].learner
            tastes.append(learner.parameters["taste"])
            worths.append(learner.worth())
        errors = [f"{np.mean(errors):.4f}" for errors in found.values()]
        chosen = ", ".join(f"{taste:g}" for taste in sorted({*tastes}))
        yield [name, *errors, chosen, f"{np.mean(worths):.0f}", f"{np.mean(fixed):.0f}"]


def _row(vote: Vote, number: int, kind: str) -> Row:
    voter = vote.voter or (None if kind == "person" else "judge")
    return {"first": vote.first, "second": vote.second, "answer": vote.value, "voter": voter, "kind": kind,
            "shown_left": vote.left, "question_id": number}  # fmt: skip


def _held_out_error(session: Session, votes: Sequence[Vote]) -> float:
    scores = session.scores()
    predicted = np.array([(scores.get(v.first, 0.0) - scores.get(v.second, 0.0)) / 2 for v in votes])
    answers = np.array([vote.value for vote in votes])
    slope = (answers @ predicted) / (predicted @ predicted)
    return float(np.mean(np.square(answers - slope * predicted)))


def with_answers(folder: Path) -> list[Row]:
    """The LLMFAO votes with the two answers that were compared."""
    with gzip.open(folder / "llmfao/pairs.jsonl.gz", "rt") as file:
        pairs = {int(pair["id"]): pair for pair in map(json.loads, file)}
    with gzip.open(folder / CROWD, "rt") as file:
        rows = list(csv.DictReader(file))
    names: dict[str, set[str]] = {}
    for row in rows:
        for model in (row["model_x"], row["model_y"]):
            names[model] = names.get(model, {row["left"], row["right"]}) & {row["left"], row["right"]}
    votes = []
    for row in rows:
        pair = pairs[int(row["id"])]
        sides = [("result_x", "result_y"), ("result_y", "result_x")][row["left"] not in names[row["model_x"]]]
        left, right = (pair[side] or "" for side in sides)
        votes.append({"left": row["left"], "right": row["right"], "winner": row["winner"], "voter": row["worker"],
                      "question_id": row["id"], "response_a": left, "response_b": right})  # fmt: skip
    return votes


def style(folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """(the weights of length, lists and side, the ten models whose place they change most)."""
    session = fit(with_answers(folder), style=["length", "lists", "side"], contradictions=True)
    weights = [[name, f"{weight:+.3f}", f"{deviation:.3f}"] for name, (weight, deviation) in session.style.items()]
    ranks = [{name: rank for rank, name in enumerate(one.rank(), 1)} for one in (without_style(session), session)]
    moved = sorted(ranks[0], key=lambda name: (-abs(ranks[0][name] - ranks[1][name]), ranks[0][name]))[:10]
    return weights, [[name, *(str(one[name]) for one in ranks)] for name in moved]


def fragile(folder: Path) -> list[list[str]]:
    """What holds two boards up, and how long it takes to tell."""
    rows = []
    for name, path, more in [("arena", ARENA, "tie"), ("LLMFAO", CROWD, "skip")]:
        session = fit(folder / path, both_bad=more)  # type: ignore[arg-type]
        board = session.board(interval="fixed")
        board.why(board.name(int(board.order[0])), board.name(int(board.order[1])))  # reads the votes
        started = perf_counter()
        found = board.fragile()
        middle = perf_counter()
        why = board.why(board.name(int(board.order[0])), board.name(int(board.order[1])))
        ended = perf_counter()
        exact = all(sum(part[-1] for part in parts) == why.gap for parts in (why.votes, why.voters, why.features))
        neighbours = [votes for votes in found.neighbours if votes]
        rows.append([name, f"{found.answers:,}", str(found.votes), str(len(found.voters) or "-"),
                     f"{np.median(neighbours):.0f}", f"{middle - started:.2f}", f"{ended - middle:.2f}",
                     "yes" if exact else "no", f"{board.reliability().value:.3f}"])  # fmt: skip
    return rows


def panel(seed: int, spread: float, offset: int, items: int = 24, rounds: int = 24) -> list[Row]:
    """Votes on neighbours in the order of the wins so far, as adaptive judgement asks."""
    rng = np.random.default_rng([seed, offset])
    worth = np.random.default_rng(seed).normal(size=items) * spread
    wins, votes = np.zeros(items), []
    for turn in range(rounds):
        order = np.lexsort([rng.random(items), -wins])
        for one, two in order.reshape(-1, 2).tolist():
            first = rng.random() < 1 / (1 + np.exp(worth[two] - worth[one]))
            wins[one if first else two] += 1
            votes.append({"first": f"i{one}", "second": f"i{two}", "winner": "first" if first else "second",
                          "question_id": turn})  # fmt: skip
    return votes


def panels() -> Iterator[list[str]]:
    """Medians of the reliability beside the agreement with another panel and the usual figure."""
    for spread in (0.0, 0.5, 1.0, 2.0):
        found = np.empty((len(PANELS), 5))
        for row, seed in zip(found, PANELS, strict=True):
            boards = [fit(panel(seed, spread, k), lam=0.1).board(interval="fixed") for k in (1, 2)]
            own = boards[0].reliability()
            both = [dict(zip(board.names or (), board.scores.tolist(), strict=True)) for board in boards]
            fresh = np.corrcoef([[one[f"i{k}"] for k in range(24)] for one in both])[0, 1]
            errors = np.square((boards[0].high - boards[0].low) / 2 / 1.96).mean()
            row[:] = own.value, fresh, 1 - errors / boards[0].scores.var(), own.low, own.high
        middle = np.median(found[:, :3], axis=0)
        inside = ((found[:, 3] <= middle[1]) & (middle[1] <= found[:, 4])).mean()
        yield [f"{spread:g}", *(f"{value:.2f}" for value in middle), f"{inside:.0%}"]


def few(folder: Path) -> Iterator[list[str]]:
    """Kendall's tau with the order by all votes, of fits of few: by lam, and with lam = "auto"."""
    from scipy.stats import kendalltau

    ways: list[Any] = [0.1, 1.0, 10.0, "auto"]
    for name, path in [("LLMFAO", CROWD), ("arena", ARENA)]:
        votes = list(read_votes(folder / path))
        full = fit(votes).scores()
        for each in (5, 20):
            taus = []
            for seed in SEEDS:
                some = np.random.default_rng(seed).choice(len(votes), each * len(full) // 2, replace=False)
                fits = [fit([votes[k] for k in some], lam=lam, contradictions=True).scores() for lam in ways]
                taus.append([kendalltau([one[i] for i in one], [full[i] for i in one]).statistic for one in fits])
            yield [name, str(each), *(f"{tau:.3f}" for tau in np.mean(taus, axis=0))]


def page(folder: Path, command: str) -> str:
    """The page."""
    weights, moved = style(folder)
    lines = [
        "# Fits of crowds", "", f"Made by `{command}`.", "",
        "## Arguments of unseen topics by the defaults", "",
        "24 topics, each left out in turn. The length's scale and lam = 10 were chosen on eight of them.", "",
        *table(["conquer.fit", "votes predicted", "of the 16 others", "mean over topics"], arguments(folder)),
        "## Careless voters", "",
        "Standard deviation between scores and worth; 2,000 votes on ten items, ten crowds of each kind.",
        "`once`: weighed as they come; `revised`: by two more passes, as `conquer.fit` does; `oracle`: without",
        "the careless.", "",
        *table(["crowd", "alike", "once", "revised", "oracle"], list(careless())),
        "## Judges beside people", "",
        "1,000 people's votes and up to 3,000 of GPT-4's; squared error on held-out people's votes at the best slope.",
        "The scale of the judge's own taste is 0.5, or chosen by the marginal likelihood.", "",
        *table(["votes", "people", "twice the people", "scale 0.5", "chosen", "scale", "worth()",
                "at scale 0.5"],
               list(judges(folder))),
        "## Style", "",
        "LLMFAO: what more length, more lists and the left side add to the expected answer, from -1 to 1.", "",
        *table(["style", "weight", "standard deviation"], weights),
        *table(["model", "place without style", "place"], moved),
        "## How fragile", "",
        "Votes, and voters, without which another model would be first, by greedy search; the median over neighbours;",
        "seconds of `fragile` and of `why`, whether the parts of `why` add up to the last digit, the reliability.", "",
        *table(["board", "votes", "first place", "by voters", "neighbours", "fragile, s", "why, s", "adds up",
                "reliability"], fragile(folder)),
        "## Reliability under adaptive pairs", "",
        "24 items, 24 rounds of neighbours by wins, 40 panels: medians of `reliability`, of the correlation with a",
        "fresh panel's scores, and of the usual figure; how often the interval holds the median correlation.", "",
        *table(["spread of worth", "reliability", "fresh panel", "usual figure", "inside"], list(panels())),
        "## lam where votes are few", "",
        "Kendall's tau with the order by all votes.", "",
        *table(["votes", "per item", "lam 0.1", "1", "10", "auto"], list(few(folder))),
    ]  # fmt: skip
    return "\n".join(lines)


def main(
    data: Annotated[Path, typer.Argument(help="A folder with llmfao, arena and ukpconvarg.")],
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("votes"),
    publish: Publish = None,
) -> None:
    """Measure fits of crowds."""
    text = page(data, " ".join(["python", "-m", "benchmarks.crowds", *sys.argv[1:]]))
    for folder in (out, *([publish] if publish else [])):
        write_text(folder / "crowds.md", text)
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
