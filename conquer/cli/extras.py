"""Optional parts: what each needs, and a clear word where it is missing."""

import shlex
import sys
from pathlib import Path

EXTRAS = {
    "study": ("jinja2", "joblib", "matplotlib", "polars", "sklearn", "zstandard"),
    "cluster": ("distributed",),
    "serve": ("conllu", "itsdangerous", "msgspec", "prometheus_client", "sqlalchemy", "uvicorn"),
    "postgres": ("psycopg",),
    "parse": ("conllu",),
}
"""The packages that the commands of an extra import, by their names in Python."""


def need(*extras: str) -> None:
    """Stop before the work, and say how to go on, where an optional part is not installed."""
    from importlib.util import find_spec

    absent = {extra: [name for name in EXTRAS[extra] if find_spec(name) is None] for extra in extras}
    if missing := sorted({name for names in absent.values() for name in names}):
        lacking = [extra for extra, names in absent.items() if names]
        raise ImportError(f"{', '.join(missing)} not installed; run: {pip_line(*lacking)}")


def remedy(error: ImportError) -> str:
    """What to say of an import that failed: a package of an extra is named with the extra that brings it."""
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, names in EXTRAS.items() if package in names), None)
    if extra is None or not isinstance(error, ModuleNotFoundError):
        return str(error)
    return f"{package} not installed; run: {pip_line(extra)}"


def pip_line(*extras: str) -> str:
    """The command that installs these extras for the Python that is running, from where this package came from."""
    place, names = _origin(), ",".join(extras)
    wanted = ["-e", f"{place}[{names}]"] if isinstance(place, Path) else [place.replace("[]", f"[{names}]")]
    return shlex.join([_python(), "-m", "pip", "install", *wanted])


def _python() -> str:
    """The running Python, as short as it can be named from here."""
    python, here = Path(sys.executable), Path.cwd()
    return str(python.relative_to(here)) if python.is_relative_to(here) else str(python)


def _origin() -> Path | str:
    """The folder of a clone, or else a requirement with a place for the extras, as pip keeps it."""
    import json
    from importlib import metadata
    from urllib.parse import unquote, urlsplit

    clone = Path(__file__).parents[2]
    if (clone / "pyproject.toml").is_file():
        return clone
    try:
        kept = metadata.distribution("conquer-bandits").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        kept = None
    url = str(json.loads(kept)["url"]) if kept else ""
    folder = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
    if folder is not None and (folder / "pyproject.toml").is_file():
        return folder
    return f"conquer-bandits[] @ {url}" if url and folder is None else "conquer-bandits[]"
