"""What of a finished study goes among the documents: its tables as Markdown and its figures as PNG."""

import shutil
from pathlib import Path


def publish(study: Path, place: Path) -> list[Path]:
    """Copy tables and figures of the folder `study` to `place`, those of a reading into a folder of its own.

    Files of the same names are replaced, others are left alone. Returns what was written.
    """
    written = []
    for folder, ending in (("tables", "*.md"), ("figures", "*.png")):
        for path in sorted((study / folder).rglob(ending)):
            target = place / path.relative_to(study / folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            written.append(target)
    return written
