"""Vectors of all texts of vote files: `python vectors.py FOLDER vectors.npz`."""

import gzip
import sys
from pathlib import Path

import numpy as np
from encoder import layers

folder, target = Path(sys.argv[1]), Path(sys.argv[2])
texts = {}
for path in sorted(folder.glob("*.csv.gz")):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        names = next(file).rstrip("\n").split("\t")
        for line in file:
            row = dict(zip(names, line.rstrip("\n").split("\t"), strict=True))
            texts |= {row["a1"]: None, row["a2"]: None}
found = []
for text in texts:
    found.append(layers(text.replace("<br/>", " ")))
    if len(found) % 100 == 0:
        print(f"{len(found)} of {len(texts)} texts")
means = np.array(found)
last = means[:, -1] / np.linalg.norm(means[:, -1], axis=1, keepdims=True)
np.savez(target, texts=np.array(list(texts)), all_layers=means.mean(axis=1), last_layer=last)
print(f"{len(texts)} texts, {means.shape[2]} numbers each, in {target}")
