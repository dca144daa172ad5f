"""The command line: parse, call one function, print. Heavy imports stay inside the commands."""

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="conquer",
    help="Learn what people want from which of two things they pick.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


_EXTRAS = {
    "study": ("joblib", "matplotlib", "polars", "sklearn"),
    "cluster": ("distributed",),
    "serve": ("msgspec", "prometheus_client", "sqlalchemy", "starlette", "uvicorn"),
    "parse": ("conllu", "matplotlib", "polars"),
    "bench": ("matplotlib", "polars", "sklearn"),
}


def _need(extra: str) -> None:
    """Stop before the work, and say how to go on, where an optional part is not installed."""
    from importlib.util import find_spec

    if missing := [name for name in _EXTRAS[extra] if find_spec(name) is None]:
        raise ImportError(f"{', '.join(missing)} not installed; run: pip install 'conquer-bandits[{extra}]'")


def _group(name: str, text: str) -> typer.Typer:
    group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(group, name=name)
    return group


data_commands = _group("data", "Public data sets: what there is, and fetching it.")
parse_commands = _group("parse", "A dependency parser trained by single-edge questions.")
keys_commands = _group("keys", "Who may use the service.")

Text = Annotated[str | None, typer.Option()]
Whole = Annotated[int | None, typer.Option()]
Store = Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://..., as for serve.")]


@app.command()
def study(
    data: Annotated[str | None, typer.Option(help="synthetic, digits, a folder or a file of reviews.")] = None,
    domains: Annotated[str | None, typer.Option(help="Only these domains, comma-separated.")] = None,
    items: Annotated[str | None, typer.Option(help="Values of K, comma-separated.")] = None,
    algorithms: Annotated[str | None, typer.Option(help="paper, rivals, all, or names, comma-separated.")] = None,
    repetitions: Whole = None,
    passes: Annotated[int | None, typer.Option(help="Passes over the training rounds.")] = None,
    features: Annotated[str | None, typer.Option(help="binary, counts or tfidf.")] = None,
    model: Text = None,
    update: Annotated[str | None, typer.Option(help="implicit, margin or coordinate.")] = None,
    preset: Annotated[str, typer.Option(help="small or paper: where everything not given comes from.")] = "small",
    judge: Annotated[str | None, typer.Option(help="linear, noisy, logistic, perfect or raters.")] = None,
    seed: Whole = None,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 2,
    cluster: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler.")] = None,
    out: Annotated[Path, typer.Option(help="Where results and report go; the same command resumes there.")] = Path(
        "study"
    ),
    balance: Annotated[str | None, typer.Option(help="stars or none.")] = None,
    minimum: Annotated[int | None, typer.Option(help="Leave out domains with fewer reviews.")] = None,
    reviews: Annotated[int | None, typer.Option(help="How many synthetic reviews in all.")] = None,
    test_sets: Whole = None,
) -> None:
    """Run the paper's study, or an extension of it, and report it."""
    _need("study")
    if cluster:
        _need("cluster")
    from conquer.study.command import run_study

    run_study(
        data=data, domains=domains, items=items, algorithms=algorithms, repetitions=repetitions, passes=passes,
        features=features, model=model, update=update, preset=preset, judge=judge, seed=seed, jobs=jobs,
        cluster=cluster, out=out, balance=balance, minimum=minimum, reviews=reviews, test_sets=test_sets,
        command=["conquer", *sys.argv[1:]],
    )  # fmt: skip


@parse_commands.command("train")
def parse_train(
    treebank: Annotated[Path, typer.Option(help="CoNLL-U, plain, gz or xz.")],
    model: Annotated[Path, typer.Option(help="The file to write.")],
    ask: Annotated[str, typer.Option(help="Which question to ask; full-supervision learns whole trees.")] = "gnc",
    questions: Annotated[int, typer.Option(help="Questions a sentence.")] = 1,
    passes: int = 1,
    seed: int = 0,
    answers: Annotated[Path | None, typer.Option(help="Learn from recorded answers instead.")] = None,
    save_answers: Annotated[Path | None, typer.Option(help="Record the simulated answers here.")] = None,
    error: Annotated[float, typer.Option(help="Share of simulated answers that are wrong.")] = 0.0,
    refusal: Annotated[float, typer.Option(help="Share of simulated questions left unanswered.")] = 0.0,
    several_roots: bool = False,
) -> None:
    """Train a parser from a treebank's simulated answers, or from recorded ones."""
    _need("parse")
    from conquer.parsing.command import train

    typer.echo(
        train(
            treebank, model, ask=ask, questions=questions, passes=passes, seed=seed, answers=answers,
            save_answers=save_answers, error=error, refusal=refusal, several_roots=several_roots,
        )
    )  # fmt: skip


@parse_commands.command("predict")
def parse_predict(
    source: Annotated[Path, typer.Argument(metavar="IN.conllu")],
    target: Annotated[Path, typer.Argument(metavar="OUT.conllu")],
    model: Annotated[Path, typer.Option(help="A file that train wrote.")],
) -> None:
    """Parse a CoNLL-U file."""
    _need("parse")
    from conquer.parsing.command import predict

    typer.echo(predict(model, source, target))


@parse_commands.command("evaluate")
def parse_evaluate(gold: Path, system: Path, several_roots: bool = False) -> None:
    """Attachment scores of SYSTEM against GOLD."""
    _need("parse")
    from conquer.parsing.command import compare, described

    typer.echo(described(compare(gold, system, several_roots=several_roots)))


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Only loopback until a key exists.  [127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="[8000]")] = None,
    store: Store = None,
    items: Annotated[Path | None, typer.Option(help="JSONL or CSV of items: start picking at once.")] = None,
    treebank: Annotated[Path | None, typer.Option(help="CoNLL-U: start answering parse questions at once.")] = None,
) -> None:
    """Serve models over HTTP, with pages for people."""
    _need("serve")
    from conquer.service.command import serve as run

    run(host=host, port=port, store=store, items=items, treebank=treebank)


@keys_commands.command("add")
def keys_add(
    name: str,
    role: Annotated[list[str], typer.Option(help="read, choose, answer or admin; may be repeated.")],
    model: Annotated[list[str], typer.Option(help="Only for these models.")] = ["*"],  # noqa: B006
    store: Store = None,
) -> None:
    """Make a key; its secret is shown this once."""
    _need("serve")
    from conquer.service.command import keys_add as add

    key, secret = add(name, roles=role, models=model, store=store)
    typer.echo(f"{key.id} {secret}")


@keys_commands.command("list")
def keys_list(store: Store = None) -> None:
    """All keys, without their secrets."""
    _need("serve")
    from conquer.service.command import keys_list as every

    for key in every(store=store):
        typer.echo(f"{key}")


@keys_commands.command("revoke")
def keys_revoke(key_id: str, store: Store = None) -> None:
    """Revoke a key."""
    _need("serve")
    from conquer.service.command import keys_revoke as revoke

    revoke(key_id, store=store)


@data_commands.command("list")
def data_list() -> None:
    """Names and sizes of the public data sets."""
    from conquer.data.download import listing

    for name, size, about in listing():
        typer.echo(f"{name:34} {size:>10}  {about}")


@data_commands.command("info")
def data_info(name: str) -> None:
    """Origin, licence, size and files of one."""
    from conquer.data.download import details

    for key, value in details(name):
        typer.echo(f"{key:10} {value}")


@data_commands.command("get")
def data_get(name: str, out: Annotated[Path, typer.Option(help="Folder to put it in.")] = Path("data")) -> None:
    """Fetch one, resuming what was begun, and check it."""
    from conquer.data.download import get

    for path in get(name, out, lambda file, done, total: typer.echo(f"\r{file} {done}/{total or '?'}", nl=False)):
        typer.echo(f"\n{path}")


@app.command()
def algorithms(name: Annotated[str | None, typer.Argument(help="Show the parameters of this one.")] = None) -> None:
    """List the algorithms, or the parameters of one."""
    from conquer.registry import ALGORITHMS

    if name is None:
        for row in ALGORITHMS.values():
            typer.echo(f"{row.name:22} {row.description}")
    elif name not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {name!r}")
    else:
        row = ALGORITHMS[name]
        typer.echo(f"{row.name}: {row.description}\nmodels: {', '.join(row.models)}")
        for parameter in row.parameters:
            typer.echo(f"  {parameter.name:10} default {parameter.default!r:12} {parameter.values}")


@app.command()
def warmup() -> None:
    """Compile every kernel now, so that no later command waits for it."""
    from conquer.simulation import warm

    for name, seconds in warm():
        typer.echo(f"{name:10} {seconds:6.1f} s")


def main() -> int:
    """Run the command line: mistakes in a call are one line and exit code 2, never a traceback."""
    try:
        app(standalone_mode=False)
    except (ValueError, TypeError, OSError, ArithmeticError, ImportError) as error:
        typer.echo(f"conquer: {error}", err=True)
        return 2
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("conquer: stopped; the same command goes on from here", err=True)
        return 130
    except Exception as error:
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
