"""Fetch public data sets over connections that break: resume where it stopped, check what arrived."""

import gzip
import hashlib
import http.client
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from conquer.data.catalogue import Dataset, Remote, datasets
from conquer.files import write_atomically

Progress = Callable[[str, int, int | None], None]
"""Called with (file name, bytes so far, bytes in all or None)."""

_CHUNK = 1 << 16
_ATTEMPTS = 5
_TIMEOUT = 30.0
_DELAY = 0.5
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers of servers that are busy or being restarted: the same request may succeed a little later."""


class DownloadError(OSError):
    """A download that did not finish; the message says what is kept and what to do."""


def find(name: str) -> Dataset:
    """The data set of this name; the error lists near names.

    >>> find("ud/English-EWT").files[0].name
    'en_ewt-ud-train.conllu'
    """
    known = datasets()
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "see `conquer data list`"
        raise DownloadError(f"no data set {name!r}; {hint}")
    return known[name]


def listing() -> Iterator[tuple[str, str, str]]:
    """(name, reviews, description) of every data set, for `conquer data list`."""
    for dataset in datasets().values():
        yield dataset.name, f"{dataset.reviews:,}" if dataset.reviews else "-", dataset.description


def details(name: str) -> Iterator[tuple[str, str]]:
    """(label, value) lines about one data set, for `conquer data info`; asks the server for sizes where it can."""
    dataset = find(name)
    yield "name", dataset.name
    yield "description", dataset.description
    yield "licence", dataset.licence
    if dataset.reviews:
        yield "reviews", f"{dataset.reviews:,}"
    for remote in dataset.files:
        yield "file", remote.url
        yield "size", _size(remote)
        yield "sha256", remote.sha256 or "not published; recorded at the first download and checked ever after"


def _silent(name: str, done: int, total: int | None) -> None:
    pass


def get(name: str, folder: str | Path, progress: Progress = _silent, *, delay: float = _DELAY) -> list[Path]:
    """Download every file of a data set into `folder` and return their paths; what is already there is checked."""
    target, files = Path(folder), find(name).files
    with _local(target):
        target.mkdir(parents=True, exist_ok=True)
    return [fetch(remote, target, progress, delay=delay) for remote in files]


def fetch(remote: Remote, folder: Path, progress: Progress = _silent, *, delay: float = _DELAY) -> Path:
    """Download one file, resuming `<name>.part` if it is there; the finished file appears at once or not at all.

    After a failure it waits `delay` seconds, then twice as long, and so on, until five in a row brought nothing.
    """
    path, part = folder / remote.name, folder / (remote.name + ".part")
    record = folder / (remote.name + ".sha256")
    with _local(folder):
        recorded = record.read_text(errors="replace").split() if record.exists() else []
        expected = remote.sha256 or (recorded[0] if recorded else None)
        if path.exists():
            _check(path, expected, f"delete {path} and run the same command again")
            return path
        _arrive(remote, part, progress, delay)
        remedy = f"the download is kept as {part}; delete it to start again"
        if fault := _fault(part):
            raise DownloadError(f"{remote.url} is not a whole gzip file ({fault}); {remedy}")
        if remote.sha256 is None:
            remedy += f", and {record} as well if the publisher changed the file since that was recorded"
        digest = _check(part, expected, remedy)
        write_atomically(record, f"{digest}  {remote.name}\n".encode())
        part.replace(path)  # kept until here, whatever fails: the next command goes on from it
        _validator(part).unlink(missing_ok=True)
    return path


def _arrive(remote: Remote, part: Path, progress: Progress, delay: float) -> None:
    """Connect until `part` holds everything."""
    failures, before = 0, -1
    while True:
        try:
            complete = _transfer(remote, part, progress)
            if complete or (complete is None and not _fault(part)):
                return
            reason = "the connection broke. Is this machine online?"
        except urllib.error.HTTPError as error:
            with error:
                reason = f"the server answered {error.code} {error.reason}."
            if error.code not in _PASSING:
                raise DownloadError(f"{remote.url}: {reason[:-1]}") from None
        except (urllib.error.URLError, http.client.HTTPException) as error:
            reason = f"{getattr(error, 'reason', None) or error or type(error).__name__}. Is this machine online?"
        kept = part.stat().st_size if part.exists() else 0
        failures = 1 if kept > before else failures + 1
        before = max(before, kept)
        if failures >= _ATTEMPTS:
            onward = "go on from there" if _validator(part).exists() else "start again"
            raise DownloadError(
                f"could not download {remote.url}: {reason} "
                f"{kept:,} bytes are kept in {part}; run the same command again to {onward}"
            )
        time.sleep(delay * 2 ** (failures - 1))


@contextmanager
def _local(place: Path) -> Iterator[None]:
    """What goes wrong in here is a matter of this machine's files."""
    try:
        yield
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(f"cannot keep the download in {place}: {error}") from error


@contextmanager
def _network() -> Iterator[None]:
    """What goes wrong in here is a matter of the connection, though Python calls both an OSError."""
    try:
        yield
    except urllib.error.URLError:
        raise
    except OSError as error:
        raise urllib.error.URLError(error) from error


def _validator(part: Path) -> Path:
    return part.with_suffix(".etag")


def _transfer(remote: Remote, part: Path, progress: Progress) -> bool | None:
    """One connection's worth of bytes; True when the file is complete, None where the server does not say."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "conquer", "Accept-Encoding": "identity"}
    # Without something to tell that the file is still the same one, its end might be joined to another's beginning.
    if have and _validator(part).exists():
        headers |= {"Range": f"bytes={have}-", "If-Range": _validator(part).read_text()}
    try:
        with _network():
            response = urllib.request.urlopen(urllib.request.Request(remote.url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or "Range" not in headers:
            raise
        with error:
            whole = error.headers.get("Content-Range", "").rpartition("/")[2]
        if whole == str(have):
            return True
        part.unlink()
        return False
    with response:
        answer = response.headers
        resumed = response.status == 206 and answer.get("Content-Range", "").startswith(f"bytes {have}-")
        if response.status == 206 and not resumed:
            part.unlink(missing_ok=True)
            return False
        have = have if resumed else 0
        length = answer.get("Content-Length", "")
        total = have + int(length) if length.isdecimal() else None
        with part.open("ab" if resumed else "wb") as file:
            if not resumed:
                # Only once the old bytes are gone, or a kill in between would vouch for them with the new tag.
                _remember(part, answer.get("ETag", ""), answer.get("Last-Modified", ""))
            while chunk := _read(response):
                file.write(chunk)
                have += len(chunk)
                progress(remote.name, have, total)
    return None if total is None else have == total


def _read(response: http.client.HTTPResponse) -> bytes:
    with _network():
        return response.read(_CHUNK)


def _remember(part: Path, tag: str, modified: str) -> None:
    """A weak tag may stay while bytes change, so servers refuse it for ranges; the date is the next best."""
    validator = modified if not tag or tag.startswith("W/") else tag
    if validator:
        _validator(part).write_text(validator)
    else:
        _validator(part).unlink(missing_ok=True)


def _fault(part: Path) -> str | None:
    """What is wrong with a gzip file, read to its end; None for a whole one and for files of other kinds."""
    if not part.name.endswith(".gz.part"):
        return None
    if part.stat().st_size == 0:
        return "it is empty"
    try:
        with gzip.open(part) as file:
            while file.read(_CHUNK << 4):
                pass
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        return str(error)
    return None


def _check(path: Path, expected: str | None, remedy: str) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if expected is not None and digest != expected:
        raise DownloadError(f"{path} has SHA-256 {digest}, expected {expected}; {remedy}")
    return digest


def _size(remote: Remote) -> str:
    request = urllib.request.Request(remote.url, method="HEAD", headers={"User-Agent": "conquer"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            length = response.headers.get("Content-Length")
    except (OSError, http.client.HTTPException) as error:
        return f"unknown (could not ask: {getattr(error, 'reason', error)})"
    return f"{int(length):,} bytes" if length else "unknown (the server does not say)"
