"""Items as people have them: a text, a vector and features at once, a label and more. Which parts of them are learnt.

A vector is learnt where there is one, and a text beside it is for people to read. A text is learnt where there is no
vector. Features are learnt with either. `learn` names the parts instead. Label, meta and image are never learnt.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

Part = Literal["text", "features", "vector"]
PARTS: tuple[Part, ...] = get_args(Part)
SHOWN = ("label", "meta", "image", "format")
"""What an item has for people alone."""


def checked_learn(learn: Any) -> tuple[Part, ...] | None:
    """`learn` as a tuple, or None; a text is not learnt beside a vector.

    >>> checked_learn(["text", "features"])
    ('text', 'features')
    """
    if learn is None:
        return None
    parts = tuple(learn) if isinstance(learn, list | tuple) else ()
    if not parts or len({*parts}) < len(parts) or not {*parts} <= {*PARTS}:
        raise ValueError(f"learn must be some of {', '.join(PARTS)}, got {learn!r:.80}")
    if {"text", "vector"} <= {*parts}:
        raise ValueError("learn takes text or vector, not both: a vector beside a text stands for it")
    return parts


def learnt_of(has: Sequence[Part], learn: Sequence[Part] | None) -> tuple[Part, ...]:
    """Which parts are learnt of an item that has these; a ValueError where that is none.

    >>> learnt_of(["text", "vector"], None), learnt_of(["text", "features"], None)
    (('vector',), ('text', 'features'))
    >>> learnt_of(["text", "vector"], ["text"])
    ('text',)
    """
    usual: tuple[Part, ...] = ("features", "vector") if "vector" in has else ("text", "features")
    wanted = usual if learn is None else learn
    found = tuple(part for part in PARTS if part in has and part in wanted)
    if not found:
        raise ValueError(f"needs {' or '.join(wanted if has or learn else PARTS)}, got {' and '.join(has) or 'none'}")
    return found


def is_whole(item: Any) -> bool:
    """Whether a dict is an item with parts: `features` is a dict in it, or `vector` holds numbers.

    No feature of a plain dict can be either, so nothing that was features before is read otherwise.

    >>> is_whole({"text": "good tea", "vector": [0.5]}), is_whole({"text": "good tea", "label": "A"})
    (True, False)
    """
    if type(item) is not dict and not isinstance(item, Mapping):
        return False
    if "vector" not in item and "features" not in item:
        return False
    vector, features = item.get("vector"), item.get("features")
    if isinstance(vector, list | tuple) and vector:
        return not isinstance(vector[0], str)
    return isinstance(vector, np.ndarray) or type(features) is dict or isinstance(features, Mapping)


def parts_of(item: Mapping[str, Any]) -> Any:
    """What there is of an item to learn from: its one part as it is, several as a dict, None where there is none.

    >>> parts_of({"id": "a", "text": "good tea", "label": "A"}), parts_of({"id": "b", "text": "x", "vector": [1]})
    ('good tea', {'text': 'x', 'vector': [1]})
    """
    found = {part: item[part] for part in PARTS if item.get(part) is not None}
    return found if len(found) > 1 else next(iter(found.values()), None)
