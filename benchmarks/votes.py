"""`python -m benchmarks.votes`: a fit of real votes beside Bradley-Terry, and arguments of unseen topics."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.arguments import (
    Products,
    Topic,
    TopicResult,
    best_validated,
    left_out,
    length_alone,
    read_vectors,
    words_and_length,
)
from conquer.cli.progress import showing
from conquer.cli.study import Publish
from conquer.data.votes import Vote, read_votes
from conquer.fitting.warm_start import fit
from conquer.study.output import write_text
from conquer.types import Floats

CROWD = "llmfao/crowd-comparisons.csv.gz"
ARGUMENTS = "ukpconvarg"
LAM, LAMS = 1.0, (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_STEPS, _CLOSE = 200, 1e-10
_HELD_OUT = 5
"""One pair in five is held out to choose lam."""
_VECTORS = [
    "Vectors are the user's: MiniLM's (all-MiniLM-L6-v2), by `examples/sentence_vectors`. `last layer` is",
    "the sentence vector of this model, `all layers` the mean over tokens and layers. The",
    "last line takes, topic by topic, the features and the lam that predict most votes of the *other*",
    "topics. The mean over layers was chosen on these topics.",
    "",
]
_BEST = "whichever predicts most votes of the other topics"


def strengths(wins: Floats) -> Floats:
    """(K,): Bradley-Terry log-strengths by maximum likelihood, mean 0; wins[i, j] is how often i beat j.

    By Newton's method with halved steps where it overshoots. Every item must be connected to every other by wins.

    >>> strengths(np.array([[0.0, 3.0], [1.0, 0.0]])).round(3).tolist()
    [0.549, -0.549]
    """
    count = len(wins)
    total = wins + wins.T
    theta = np.zeros(count)

    def likelihood(theta: Floats) -> float:
        return -float((wins * np.logaddexp(0.0, theta[None, :] - theta[:, None])).sum())

    best = likelihood(theta)
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
        slope = (wins - total * chance).sum(axis=1)
        curve = total * chance * chance.T
        hessian = np.diag(curve.sum(axis=1)) - curve
        step = np.linalg.lstsq(hessian, slope, rcond=None)[0]
        while likelihood(theta + step) < best and np.abs(step).max() > _CLOSE:
            step /= 2.0
        theta = theta + step
        theta -= theta.mean()
        best = likelihood(theta)
        if np.abs(step).max() < _CLOSE:
            return np.asarray(theta)
    raise ArithmeticError("Bradley-Terry has no maximum likelihood: some items never lost, or never won")


@dataclass(frozen=True, slots=True)
class CrowdFit:
    """Kendall's tau of a fit's order with Bradley-Terry's, and the error of each lam on pairs held out.

    `tau` is at the default lam, `taus` at each of `LAMS`, both with ties as half wins; `fit_without_ties` and
    `both_without_ties` drop them from the fit alone or from both.
    """

    votes: int
    items: int
    ties: int
    errors: dict[float, float]
    tau: float
    taus: dict[float, float]
    fit_without_ties: float
    both_without_ties: float


def crowd(path: Path) -> CrowdFit:
    """Fit a file of votes beside Bradley-Terry."""
    votes = list(read_votes(path))
    names = sorted({name for vote in votes for name in (vote.first, vote.second)})
    reference = strengths(_wins(votes, names))
    decisive = [vote for vote in votes if vote.value != 0]
    return CrowdFit(
        votes=len(votes),
        items=len(names),
        ties=len(votes) - len(decisive),
        errors=held_out_errors(votes),
        tau=_tau(votes, names, LAM, reference),
        taus={lam: _tau(votes, names, lam, reference) for lam in LAMS},
        fit_without_ties=_tau(decisive, names, LAM, reference),
        both_without_ties=_tau(decisive, names, LAM, strengths(_wins(decisive, names))),
    )


def held_out_errors(votes: list[Vote]) -> dict[float, float]:
    """{lam: mean squared error on the votes of held-out pairs}."""
    held_out = [_is_held_out(vote) for vote in votes]
    training = [vote for vote, out in zip(votes, held_out, strict=True) if not out]
    errors = {}
    for lam in LAMS:
        scores = _scores(training, lam)
        tested = [
            vote.value - 0.5 * (scores[vote.first] - scores[vote.second])
            for vote, out in zip(votes, held_out, strict=True)
            if out and vote.first in scores and vote.second in scores
        ]
        errors[lam] = float(np.mean(np.square(tested)))
    return errors


def _is_held_out(vote: Vote) -> bool:
    """By the hash of the two names, so that all votes on a pair are on one side."""
    text = "\n".join(sorted((vote.first, vote.second)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little") % _HELD_OUT == 0


def _wins(votes: list[Vote], names: list[str]) -> Floats:
    places = {name: place for place, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for vote in votes:
        one, two, share = places[vote.first], places[vote.second], (1.0 + vote.value) / 2.0
        wins[one, two] += share
        wins[two, one] += 1.0 - share
    return wins


def _scores(votes: list[Vote], lam: float) -> dict[str, float]:
    session = fit(votes, lam=lam)
    assert session.catalog is not None
    scores = session.learner.scores(session.catalog.rows)
    return {str(name): float(scores[position]) for name, position in session.catalog.positions.items()}


def _tau(votes: list[Vote], names: list[str], lam: float, reference: Floats) -> float:
    from scipy.stats import kendalltau

    scores = _scores(votes, lam)
    return float(kendalltau([scores[name] for name in names], reference).statistic)


def run_votes(
    data: Path,
    *,
    out: Path,
    publish: Path | None,
    command: list[str],
    progress: Callable[[str, int, int], None],
    vectors: Path | None = None,
) -> str:
    """Measure the votes in the folder `data`, write `votes.md` to `out` and `publish`, and return its text.

    `vectors` is an .npz file with `texts` and arrays of vectors, each of which gets its lines in the table.
    """
    files = sorted((data / ARGUMENTS).glob("*.csv*"))
    if not (data / CROWD).is_file() or not files:
        raise ValueError(f"{data} must hold {CROWD} and {ARGUMENTS}/*.csv.gz")
    features: dict[str, Products] = {"words and length": words_and_length, "length alone": length_alone}
    features |= {} if vectors is None else read_vectors(vectors)
    progress("crowd votes", 1, 0)
    found = crowd(data / CROWD)
    topics = [Topic(path) for path in files]
    results = {
        label: left_out(topics, products, partial(progress, label, len(topics))) for label, products in features.items()
    }
    if vectors is not None:
        results[_BEST] = best_validated(list(results.values()))
    text = page(found, results, " ".join(command))
    for folder in (out, *([publish] if publish else [])):
        write_text(folder / "votes.md", text)
    return text


def page(crowd: CrowdFit, arguments: Mapping[str, list[TopicResult]], command: str) -> str:
    """The page: the crowd's fit, and what `left_out` found by features, with a table each."""
    topics = list(zip(*arguments.values(), strict=True))
    taus = " | ".join(f"{tau:.3f}" for tau in crowd.taus.values())
    errors = " | ".join(f"{error:.4f}" for error in crowd.errors.values())
    predicting = min(crowd.errors, key=lambda lam: crowd.errors[lam])
    lines = [
        "# Real votes",
        "",
        f"Made by `{command}`.",
        "",
        "## A fit beside Bradley-Terry",
        "",
        f"{crowd.votes:,} crowd votes on {crowd.items} language models, {crowd.ties:,} of them ties",
        "(LLMFAO, Ustalov; CC BY 4.0). `conquer.fit` with the full model, beside Bradley-Terry by maximum",
        "likelihood, ties as half wins in both.",
        "",
        "| lam | " + " | ".join(f"{lam:g}" for lam in crowd.taus) + " |",
        "|---" * (len(crowd.taus) + 1) + "|",
        f"| squared error, held-out pairs | {errors} |",
        f"| Kendall's tau with Bradley-Terry | {taus} |",
        "",
        f"With the default lam = {LAM:g} tau is **{crowd.tau:.3f}**. Where the fit drops ties and",
        f"Bradley-Terry counts them it is {crowd.fit_without_ties:.3f}; where both drop them,",
        f"{crowd.both_without_ties:.3f}. One pair in five, held out, is predicted best with",
        f"lam = {predicting:g}, by little: that lam shrinks the scores of models with few votes, which moves",
        "them in the order. Bradley-Terry does not shrink.",
        "",
        "## Arguments of unseen topics",
        "",
        f"{len(topics)} topics of UKPConvArg1Strict (Habernal and Gurevych 2016; CC BY 4.0), each left out in turn;",
        "lam is chosen by cross-validation over the other topics. Words and pairs of words by tf-idf, with",
        "the length's logarithm and root, beside these two alone. Published on all 32 topics: BiLSTM .76 to",
        ".77, SVM .78 to .79, GPPL .79 to .80.",
        "",
        *([] if len(arguments) == 2 else _VECTORS),
        "| features | votes predicted | mean over topics |",
        "|---|---|---|",
        *(f"| {name} | {_share(rows):.3f} | {_mean(rows):.3f} |" for name, rows in arguments.items()),
        "",
        "| topic | votes | " + " | ".join(arguments) + " |",
        "|---|---" + "|---" * len(arguments) + "|",
        *map(_topic_line, topics),
        "",
    ]
    return "\n".join(lines)


def _topic_line(rows: Sequence[TopicResult]) -> str:
    """A topic's line: its votes, and the share that each kind of features predicts."""
    shares = (f"{row.right / row.votes:.3f}" for row in rows)
    return " | ".join([f"| {rows[0].topic}", str(rows[0].votes), *shares]) + " |"


def _share(rows: list[TopicResult]) -> float:
    return sum(row.right for row in rows) / sum(row.votes for row in rows)


def _mean(rows: list[TopicResult]) -> float:
    return sum(row.right / row.votes for row in rows) / len(rows)


def main(
    data: Annotated[Path, typer.Argument(help="A folder with llmfao and ukpconvarg.")],
    vectors: Annotated[Path | None, typer.Option(help="An .npz file: `texts`, and vectors of them by name.")] = None,
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("votes"),
    publish: Publish = None,
) -> None:
    """Fit real votes beside Bradley-Terry, and rank arguments of unseen topics."""
    command = ["python", "-m", "benchmarks.votes", *sys.argv[1:]]
    with showing("measuring votes") as progress:
        text = run_votes(data, out=out, publish=publish, command=command, progress=progress, vectors=vectors)
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
