"""Public data sets: what there is, and downloads that resume after a broken connection and are checked."""

import gzip
import hashlib
import http.client
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conquer.files import write_atomically

Progress = Callable[[str, int, int | None], None]
"""Called with (file name, bytes so far, bytes in all or None)."""

_CHUNK = 1 << 16
_ATTEMPTS = 5
_TIMEOUT = 30.0
_DELAY = 0.5
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers of busy or restarting servers, after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set; `files` are addresses, `reviews` is the published number of reviews where known."""

    name: str
    description: str
    licence: str
    files: tuple[str, ...]
    reviews: int | None = None


_RESEARCH = "no licence given; offered for research, please cite the authors; texts remain their writers'"
_SNAP = "http://snap.stanford.edu/data/amazon/productGraph/categoryFiles/reviews_{}_5.json.gz"
_UCSD = "https://datarepo.eng.ucsd.edu/mcauley_group/data/amazon_v2/categoryFilesSmall/{}_5.json.gz"
_MCAULEY = "https://mcauleylab.ucsd.edu/public_datasets/data/amazon_2023/raw/review_categories/{}.jsonl.gz"
_UD = "https://raw.githubusercontent.com/UniversalDependencies/UD_{}/r2.14/{}-ud-{}.conllu"
_2014 = {
    "Amazon_Instant_Video": 37_126, "Apps_for_Android": 752_937, "Automotive": 20_473, "Baby": 160_792,
    "Beauty": 198_502, "Books": 8_898_041, "CDs_and_Vinyl": 1_097_592, "Cell_Phones_and_Accessories": 194_439,
    "Clothing_Shoes_and_Jewelry": 278_677, "Digital_Music": 64_706, "Electronics": 1_689_188,
    "Grocery_and_Gourmet_Food": 151_254, "Health_and_Personal_Care": 346_355, "Home_and_Kitchen": 551_682,
    "Kindle_Store": 982_619, "Movies_and_TV": 1_697_533, "Musical_Instruments": 10_261, "Office_Products": 53_258,
    "Patio_Lawn_and_Garden": 13_272, "Pet_Supplies": 157_836, "Sports_and_Outdoors": 296_337,
    "Tools_and_Home_Improvement": 134_476, "Toys_and_Games": 167_597, "Video_Games": 231_780,
}  # fmt: skip
_2018 = [
    "AMAZON_FASHION", "All_Beauty", "Appliances", "Arts_Crafts_and_Sewing", "Automotive", "Books",
    "CDs_and_Vinyl", "Cell_Phones_and_Accessories", "Clothing_Shoes_and_Jewelry", "Digital_Music", "Electronics",
    "Gift_Cards", "Grocery_and_Gourmet_Food", "Home_and_Kitchen", "Industrial_and_Scientific", "Kindle_Store",
    "Luxury_Beauty", "Magazine_Subscriptions", "Movies_and_TV", "Musical_Instruments", "Office_Products",
    "Patio_Lawn_and_Garden", "Pet_Supplies", "Prime_Pantry", "Software", "Sports_and_Outdoors",
    "Tools_and_Home_Improvement", "Toys_and_Games", "Video_Games",
]  # fmt: skip
_2023 = [
    "All_Beauty", "Amazon_Fashion", "Appliances", "Arts_Crafts_and_Sewing", "Automotive", "Baby_Products",
    "Beauty_and_Personal_Care", "Books", "CDs_and_Vinyl", "Cell_Phones_and_Accessories",
    "Clothing_Shoes_and_Jewelry", "Digital_Music", "Electronics", "Gift_Cards", "Grocery_and_Gourmet_Food",
    "Handmade_Products", "Health_and_Household", "Health_and_Personal_Care", "Home_and_Kitchen",
    "Industrial_and_Scientific", "Kindle_Store", "Magazine_Subscriptions", "Movies_and_TV", "Musical_Instruments",
    "Office_Products", "Patio_Lawn_and_Garden", "Pet_Supplies", "Software", "Sports_and_Outdoors",
    "Subscription_Boxes", "Tools_and_Home_Improvement", "Toys_and_Games", "Unknown", "Video_Games",
]  # fmt: skip
_TREEBANKS = (
    ("English-EWT", "en_ewt", "CC BY-SA 4.0"),
    ("Afrikaans-AfriBooms", "af_afribooms", "CC BY-SA 4.0"),
    ("Gothic-PROIEL", "got_proiel", "CC BY-NC-SA 3.0"),
)


def datasets() -> dict[str, Dataset]:
    """{name: data set}, by name.

    >>> datasets()["amazon-2014/Automotive"].reviews
    20473
    """
    amazon = (
        ("2014", "Amazon reviews to 2014, 5-core (McAuley)", _SNAP, _2014),
        ("2018", "Amazon reviews to 2018, 5-core (Ni, McAuley)", _UCSD, dict.fromkeys(_2018)),
        ("2023", "Amazon reviews to 2023 (Hou, McAuley)", _MCAULEY, dict.fromkeys(_2023)),
    )
    found = [
        Dataset(f"amazon-{year}/{category}", about, _RESEARCH, (url.format(category),), reviews)
        for year, about, url, categories in amazon
        for category, reviews in categories.items()
    ]
    for treebank, prefix, licence in _TREEBANKS:
        files = tuple(_UD.format(treebank, prefix, part) for part in ("train", "dev", "test"))
        found.append(Dataset(f"ud/{treebank}", "Universal Dependencies 2.14 treebank", licence, files))
    return {dataset.name: dataset for dataset in found}


class DownloadError(OSError):
    """A download that did not finish. The message names what is kept and the remedy."""


def find(name: str) -> Dataset:
    """The data set of this name; the error lists near names.

    >>> find("ud/English-EWT").licence
    'CC BY-SA 4.0'
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
    """(label, value) lines about one data set, for `conquer data info`; sizes are requested from the server."""
    dataset = find(name)
    yield "name", dataset.name
    yield "description", dataset.description
    yield "licence", dataset.licence
    if dataset.reviews:
        yield "reviews", f"{dataset.reviews:,}"
    for url in dataset.files:
        yield "file", url
        yield "size", _size(url)


def _silent(name: str, done: int, total: int | None) -> None:
    pass


def get(name: str, folder: str | Path, progress: Progress = _silent, *, delay: float = _DELAY) -> list[Path]:
    """Download all files of a data set into `folder` and return their paths; existing files are checked."""
    target, files = Path(folder), find(name).files
    target.mkdir(parents=True, exist_ok=True)
    return [fetch(url, target, progress, delay=delay) for url in files]


def fetch(url: str, folder: Path, progress: Progress = _silent, *, delay: float = _DELAY) -> Path:
    """Download one file, resuming `<name>.part` if it exists; the complete file appears at once.

    After a failure it waits `delay` seconds, then twice as long, until five consecutive attempts make no progress.
    The checksum of the first download is recorded, and later ones must have the same.
    """
    name = url.rsplit("/", 1)[1]
    path, part, record = (folder / (name + ending) for ending in ("", ".part", ".sha256"))
    expected = record.read_text(errors="replace").split() if record.exists() else []
    if path.exists():
        _check(path, expected, f"delete {path} and run the same command again")
        return path
    failures, before = 0, -1
    while reason := _transfer(url, part, progress):
        kept = part.stat().st_size if part.exists() else 0
        failures = 1 if kept > before else failures + 1
        before = max(before, kept)
        if failures >= _ATTEMPTS:
            onward = "resume" if _validator(part).exists() else "start again"
            raise DownloadError(
                f"could not download {url}: {reason}; "
                f"{kept:,} bytes are kept in {part}; run the same command again to {onward}"
            )
        time.sleep(delay * 2 ** (failures - 1))
    remedy = f"the download is kept as {part}; delete it to start again"
    if fault := _fault(part):
        raise DownloadError(f"{url} is not a complete gzip file ({fault}); {remedy}")
    changed = f", and {record} as well if the publisher changed the file since that was recorded"
    digest = _check(part, expected, remedy + changed)
    write_atomically(record, f"{digest}  {name}\n".encode())
    part.replace(path)  # the partial file is kept until here, so that the next command can resume it
    _validator(part).unlink(missing_ok=True)
    return path


def _validator(part: Path) -> Path:
    return part.with_suffix(".etag")


def _transfer(url: str, part: Path, progress: Progress) -> str:
    """Read from one connection; empty when the file is complete, else why it is not."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "conquer", "Accept-Encoding": "identity"}
    # Without a validator the rest of a changed file might be appended to the old beginning.
    if have and _validator(part).exists():
        headers |= {"Range": f"bytes={have}-", "If-Range": _validator(part).read_text()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT) as response:
            return _receive(response, part, have, partial(progress, part.stem))
    except urllib.error.HTTPError as error:
        with error:
            whole = error.headers.get("Content-Range", "").rpartition("/")[2]
            if error.code == 416 and whole == str(have):
                return ""
            reason = f"the server answered {error.code} {error.reason}"
        if error.code == 416:
            part.unlink(missing_ok=True)
        elif error.code not in _TEMPORARY:
            raise DownloadError(f"{url}: {reason}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = f"{getattr(error, 'reason', None) or error or type(error).__name__}"
    return reason


def _receive(
    response: http.client.HTTPResponse, part: Path, have: int, progress: Callable[[int, int | None], None]
) -> str:
    answer = response.headers
    resumed = response.status == 206 and answer.get("Content-Range", "").startswith(f"bytes {have}-")
    if response.status == 206 and not resumed:
        part.unlink(missing_ok=True)
        return "the server sent another range than the one requested"
    have = have if resumed else 0
    length = answer.get("Content-Length", "")
    total = have + int(length) if length.isdecimal() else None
    with part.open("ab" if resumed else "wb") as file:
        if not resumed:
            # After the old bytes are gone, so that the new tag never vouches for them.
            _remember(part, answer.get("ETag", ""), answer.get("Last-Modified", ""))
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            have += len(chunk)
            progress(have, total)
    complete = have == total if total is not None else not _fault(part)
    return "" if complete else "the connection broke"


def _remember(part: Path, tag: str, modified: str) -> None:
    """Servers refuse weak tags for ranges, because bytes may change under them; the date is used instead."""
    validator = modified if not tag or tag.startswith("W/") else tag
    if validator:
        _validator(part).write_text(validator)
    else:
        _validator(part).unlink(missing_ok=True)


def _fault(part: Path) -> str | None:
    """Why a gzip file is not complete; None for a complete one and for other files."""
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


def _check(path: Path, expected: list[str], remedy: str) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if expected and digest != expected[0]:
        raise DownloadError(f"{path} has SHA-256 {digest}, expected {expected[0]}; {remedy}")
    return digest


def _size(url: str) -> str:
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "conquer"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            length = response.headers.get("Content-Length")
    except (OSError, http.client.HTTPException) as error:
        return f"unknown (could not ask: {getattr(error, 'reason', error)})"
    return f"{int(length):,} bytes" if length else "unknown (the server does not say)"
