"""Optional extras: the packages each needs, and the command that installs a missing one."""

import shlex
import sys
from pathlib import Path

EXTRAS = {
    "study": ("jinja2", "matplotlib", "polars", "sklearn", "zstandard"),
    "cluster": ("distributed",),
    "serve": ("itsdangerous", "msgspec", "prometheus_client", "sqlalchemy", "starlette", "uvicorn"),
    "postgres": ("psycopg",),
    "client": ("httpx",),
}
"""The import names of the packages that the commands of an extra use."""


def need(*extras: str) -> None:
    """Raise an ImportError with the install command when an extra is not installed."""
    from importlib.util import find_spec

    absent = {extra: [name for name in EXTRAS[extra] if find_spec(name) is None] for extra in extras}
    if missing := sorted({name for names in absent.values() for name in names}):
        lacking = [extra for extra, names in absent.items() if names]
        raise ImportError(f"{', '.join(missing)} not installed; run: {pip_line(*lacking)}")


def remedy(error: ImportError) -> str:
    """The message for a failed import; a package of an extra comes with the install command."""
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, names in EXTRAS.items() if package in names), None)
    if extra is None or not isinstance(error, ModuleNotFoundError):
        return str(error)
    return f"{package} not installed; run: {pip_line(extra)}"


def pip_line(*extras: str) -> str:
    """The pip command that installs these extras for the running Python, from this package's own source."""
    place, names = _origin(), ",".join(extras)
    wanted = ["-e", f"{place}[{names}]"] if isinstance(place, Path) else [place.replace("[]", f"[{names}]")]
    return shlex.join([_python(), "-m", "pip", "install", *wanted])


def _python() -> str:
    """The running Python, relative to the current folder where possible."""
    python, here = Path(sys.executable), Path.cwd()
    return str(python.relative_to(here)) if python.is_relative_to(here) else str(python)


def _origin() -> Path | str:
    """The folder of a clone, or a requirement with empty brackets for the extras."""
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
