"""The service's commands: serve, keys, backup, restore, erase, replay."""

from pathlib import Path
from typing import Annotated, Any

import typer

from conquer.cli.extras import need
from conquer.cli.options import filled, help_of
from conquer.service.settings import Settings

keys = typer.Typer(help="API keys of the service.", no_args_is_help=True, rich_markup_mode=None)

Store = Annotated[str | None, typer.Option(help=f"{help_of(Settings, 'store')} As for serve.")]


@filled(Settings, only=("host", "port", "store"), unset=True, defaults=True)
def serve(
    settings: dict[str, Any],
    items: Annotated[Path | None, typer.Option(help="JSON or CSV of items: create a model of them.")] = None,
    text: Annotated[str | None, typer.Option(help="The column of --items that holds the text.")] = None,
    treebank: Annotated[Path | None, typer.Option(help="CoNLL-U: create a parser of it.")] = None,
) -> None:
    """Serve models over HTTP, with pages for people."""
    need("serve")
    from conquer.service.serve import serve as run

    run(items=items, treebank=treebank, text=text, **settings)


@keys.command("add")
def keys_add(
    name: str,
    role: Annotated[list[str], typer.Option(help="read, choose, answer or admin; may be repeated.")],
    model: Annotated[list[str] | None, typer.Option(help="Only for these models.")] = None,
    store: Store = None,
) -> None:
    """Create a key; its secret is shown once."""
    need("serve")
    from conquer.service.admin import keys_add as add
    from conquer.service.admin import keys_list as every

    key, secret = add(name, roles=role, models=model or ("*",), store=store)
    typer.echo(f"id      {key.id}\nsecret  {secret}")
    typer.echo("The secret is not shown again. Send it as: Authorization: Bearer SECRET", err=True)
    if not any("admin" in each.roles for each in every(store=store) if each.revoked is None):
        typer.echo("Every request needs a key now, and no key can create models: add one with --role admin.", err=True)


@keys.command("list")
def keys_list(store: Store = None) -> None:
    """List all keys, without their secrets."""
    need("serve")
    from conquer.service.admin import keys_list as every

    found = every(store=store)
    for key in found:
        typer.echo(f"{key}")
    if not found:
        typer.echo(
            "There are no keys: only this machine is served. Add one with: conquer keys add NAME --role admin", err=True
        )


@keys.command("revoke")
def keys_revoke(key_id: str, store: Store = None) -> None:
    """Revoke a key."""
    need("serve")
    from conquer.service.admin import keys_revoke as revoke

    revoke(key_id, store=store)


def backup(path: Path, store: Store = None) -> None:
    """Copy a store to a new file, also while it is served."""
    need("serve")
    from conquer.service.admin import backup as run

    typer.echo(f"{path}: {sum(run(path, store=store).values())} rows")


def restore(path: Path, store: Store = None) -> None:
    """Fill an empty store from a backup."""
    need("serve")
    from conquer.service.admin import restore as run

    typer.echo(f"{sum(run(path, store=store).values())} rows restored")


def erase(
    voter: str,
    model: Annotated[list[str] | None, typer.Option(help="Only these models.")] = None,
    store: Store = None,
) -> None:
    """Erase a voter: their answers leave the log and the models."""
    need("serve")
    from conquer.service.admin import erase as run

    erased = run(voter, models=model or (), store=store)
    if not erased:
        typer.echo("the store has no models")
    for name, gone in erased.items():
        typer.echo(f"{name:24} {gone.rows} rows")


def replay(
    ledger: Annotated[Path, typer.Argument(help="JSON lines, as the service's ledger route writes them.")],
    name: Annotated[str, typer.Option(help="The new model's name in the store.")],
    algorithm: Annotated[str | None, typer.Option(help="Another algorithm than the ledger's.")] = None,
    parameters: Annotated[str | None, typer.Option(help="Its parameters as JSON.")] = None,
    model: Annotated[Path | None, typer.Option(help="Write the trained model to this file as well.")] = None,
    store: Store = None,
) -> None:
    """Train a fresh model on the answers of a ledger."""
    need("serve")
    import json

    from conquer.service.admin import replay as run

    try:
        given = None if parameters is None else json.loads(parameters)
    except ValueError as error:
        raise ValueError(
            f"--parameters must be JSON such as '{{\"lam\": 0.3}}', got {parameters!r} ({error})"
        ) from None
    typer.echo(json.dumps(run(ledger, name=name, algorithm=algorithm, parameters=given, store=store, model=model)))
