"""`conquer measure votes`: real votes, measured and written as one page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conquer.files import write_atomically
from conquer.study.votes.arguments import Topic, best_known, left_out, length_alone, words_and_length
from conquer.study.votes.crowd import crowd
from conquer.study.votes.vectors import read_vectors

CROWD = "llmfao/crowd-comparisons.csv.gz"
ARGUMENTS = "ukpconvarg"

VECTORS = [
    "Vectors are the user's: MiniLM's (all-MiniLM-L6-v2), by `examples/sentence_vectors`. `last layer` is",
    "the sentence vector that this model gives out, `all layers` the mean over tokens and layers. The",
    "last line takes, topic by topic, the features and the lam that predict most votes of the *other*",
    "topics. That the mean over layers is worth trying was seen on these same topics.",
    "",
]
BEST = "whichever predicts most votes of the other topics"


def run_votes(
    data: Path, *, out: Path, publish: Path | None, command: list[str], progress: Any, vectors: Path | None = None
) -> str:
    """Measure what there is in the folder, write `votes.md` and return its text.

    vectors: an .npz file with `texts` and arrays of vectors, each of which gets its lines in the table.
    """
    files = sorted((data / ARGUMENTS).glob("*.csv*"))
    if not (data / CROWD).is_file() or not files:
        raise ValueError(f"{data} must hold {CROWD} and {ARGUMENTS}/*.csv.gz")
    features = {"words and length": words_and_length, "length alone": length_alone}
    features |= {} if vectors is None else read_vectors(vectors)
    progress("crowd votes", 1, 0)
    found = crowd(data / CROWD)
    topics = [Topic(path) for path in files]
    told = {
        what: left_out(topics, products, lambda done, what=what: progress(what, len(topics), done))  # type: ignore[misc]
        for what, products in features.items()
    }
    if vectors is not None:
        told[BEST] = best_known(list(told.values()))
    text = page(found, told, " ".join(command))
    for folder in (out, *([publish] if publish else [])):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "votes.md", text.encode())
    return text


def page(
    crowd: dict[str, Any],
    arguments: dict[str, list[dict[str, Any]]],
    command: str,
) -> str:
    """The page: two questions, a table each. `arguments`: what `left_out` found, by features."""
    topics = list(zip(*arguments.values(), strict=True))
    taus = " | ".join(f"{tau:.3f}" for tau in crowd["taus"].values())
    errors = " | ".join(f"{error:.4f}" for error in crowd["errors"].values())
    lines = [
        "# Real votes",
        "",
        f"Made by `{command}`.",
        "",
        "## A fit beside Bradley-Terry",
        "",
        f"{crowd['votes']:,} crowd votes on {crowd['items']} language models, {crowd['ties']:,} of them ties",
        "(LLMFAO, Ustalov; CC BY 4.0). `conquer.fit` with the full model, beside Bradley-Terry by maximum",
        "likelihood, ties as half wins in both.",
        "",
        "| lam | " + " | ".join(f"{lam:g}" for lam in crowd["taus"]) + " |",
        "|---" * (len(crowd["taus"]) + 1) + "|",
        f"| squared error, held-out pairs | {errors} |",
        f"| Kendall's tau with Bradley-Terry | {taus} |",
        "",
        f"With the default lam = {crowd['lam']:g} tau is **{crowd['tau']:.3f}**. Where the fit drops ties and",
        f"Bradley-Terry counts them it is {crowd['tau_without_ties']:.3f}; where both drop them,",
        f"{crowd['tau_both_without_ties']:.3f}. One pair in five, held out, is predicted best with",
        f"lam = {crowd['predicting']:g}, by little: that lam pulls models with few votes to the middle, which moves",
        "them in the order. Bradley-Terry pulls nobody.",
        "",
        "## Arguments of unseen topics",
        "",
        f"{len(topics)} topics of UKPConvArg1Strict (Habernal and Gurevych 2016; CC BY 4.0), each left out in turn;",
        "lam is chosen by cross-validation over the other topics. Words and pairs of words by tf-idf, with",
        "the length's logarithm and root, beside these two alone. Published on all 32 topics: BiLSTM .76 to",
        ".77, SVM .78 to .79, GPPL .79 to .80.",
        "",
        *([] if len(arguments) == 2 else VECTORS),
        "| features | votes predicted | mean over topics |",
        "|---|---|---|",
        *(f"| {name} | {_share(rows):.3f} | {_mean(rows):.3f} |" for name, rows in arguments.items()),
        "",
        "| topic | votes | " + " | ".join(arguments) + " |",
        "|---|---" + "|---" * len(arguments) + "|",
        *map(_of_topic, topics),
        "",
    ]
    return "\n".join(lines)


def _of_topic(rows: Sequence[dict[str, Any]]) -> str:
    """A topic's line: its votes, and the share that each kind of features predicts."""
    shares = (f"{row['right'] / row['votes']:.3f}" for row in rows)
    return " | ".join([f"| {rows[0]['topic']}", str(rows[0]["votes"]), *shares]) + " |"


def _share(rows: list[dict[str, Any]]) -> float:
    return float(sum(row["right"] for row in rows) / sum(row["votes"] for row in rows))


def _mean(rows: list[dict[str, Any]]) -> float:
    return float(sum(row["right"] / row["votes"] for row in rows) / len(rows))
