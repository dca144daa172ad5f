"""The best tree against every tree of small graphs and against networkx on random large ones."""

from functools import cache
from itertools import product

import networkx
import numpy as np
import pytest

from conquer.data.treebank import tree_fault
from conquer.parsing.trees import best_tree


@cache
def all_trees(size: int, several_roots: bool) -> np.ndarray:
    """Every assignment of heads that is a tree, found by looking at all of them."""
    choices = [[h for h in range(size + 1) if h != j] for j in range(1, size + 1)]
    return np.array([heads for heads in product(*choices) if tree_fault(heads, several_roots) is None])


def total(scores: np.ndarray, heads: np.ndarray) -> np.ndarray:
    return scores[np.arange(1, scores.shape[0]), heads].sum(axis=-1)


def test_number_of_trees_is_cayleys():
    # Rooted spanning arborescences of 0 over n words: (n + 1)^(n - 1); with one root child: n^(n - 1).
    for size in (1, 2, 3, 4, 5):
        assert len(all_trees(size, True)) == (size + 1) ** (size - 1)
        assert len(all_trees(size, False)) == size ** (size - 1)


@pytest.mark.parametrize("several_roots", [False, True])
@pytest.mark.parametrize("values", [(0, 1), (-1, 0, 2)])
def test_every_graph_of_two_words(values, several_roots):
    for cells in product(values, repeat=4):
        scores = np.zeros((3, 3))
        scores[1, [0, 2]], scores[2, [0, 1]] = cells[:2], cells[2:]
        best = total(scores, all_trees(2, several_roots)).max()
        assert total(scores, best_tree(scores, several_roots=several_roots)) == best


@pytest.mark.parametrize("several_roots", [False, True])
def test_every_zero_one_graph_of_three_words(several_roots):
    trees = all_trees(3, several_roots)
    mask = ~np.eye(4, dtype=bool)
    mask[0] = False
    for cells in product((0.0, 1.0), repeat=9):
        scores = np.zeros((4, 4))
        scores[mask] = cells
        assert total(scores, best_tree(scores, several_roots=several_roots)) == total(scores, trees).max()


@pytest.mark.parametrize("several_roots", [False, True])
@pytest.mark.parametrize("size", [4, 5, 6])
def test_random_small_graphs_against_all_trees(size, several_roots):
    rng = np.random.default_rng(size)
    trees = all_trees(size, several_roots)
    for trial in range(400 if size < 6 else 150):
        # Few distinct whole numbers: many ties and exact sums.
        scores = (
            rng.integers(-3, 4, (size + 1, size + 1)).astype(float) if trial % 2 else rng.normal(size=(size + 1,) * 2)
        )
        heads = best_tree(scores, several_roots=several_roots)
        assert tree_fault(heads.tolist(), several_roots) is None
        assert total(scores, heads) == pytest.approx(total(scores, trees).max(), abs=1e-12)


def test_thousands_of_random_graphs_against_networkx():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        size = int(rng.integers(2, 13))
        scores = rng.integers(-50, 50, (size + 1, size + 1)).astype(float)
        graph = networkx.DiGraph()
        graph.add_weighted_edges_from(
            (u, v, scores[v, u]) for v in range(1, size + 1) for u in range(size + 1) if u != v
        )
        expected = networkx.maximum_spanning_arborescence(graph).size(weight="weight")
        heads = best_tree(scores, several_roots=True)
        assert tree_fault(heads.tolist(), True) is None
        assert total(scores, heads) == expected


def test_one_root_against_networkx_with_every_root_child():
    rng = np.random.default_rng(2)
    for _ in range(60):
        size = int(rng.integers(2, 12))
        scores = rng.integers(-50, 50, (size + 1, size + 1)).astype(float)
        scores[1:, 0] += 60  # the root is tempting
        best = -np.inf
        for child in range(1, size + 1):
            graph = networkx.DiGraph([(0, child, {"weight": scores[child, 0]})])
            graph.add_weighted_edges_from(
                (u, v, scores[v, u]) for v in range(1, size + 1) for u in range(1, size + 1) if u != v != child
            )
            best = max(best, networkx.maximum_spanning_arborescence(graph).size(weight="weight"))
        heads = best_tree(scores)
        assert (heads == 0).sum() == 1
        assert total(scores, heads) == best


@pytest.mark.parametrize("several_roots", [False, True])
def test_fixed_heads_are_kept(several_roots):
    rng = np.random.default_rng(3)
    for _ in range(200):
        trees = all_trees(5, several_roots)
        tree = trees[rng.integers(len(trees))]
        fixed = np.where(rng.random(5) < 0.5, tree, -1)
        scores = rng.normal(size=(6, 6))
        heads = best_tree(scores, several_roots=several_roots, fixed=fixed)
        allowed = trees[((fixed < 0) | (trees == fixed)).all(axis=1)]
        assert ((fixed < 0) | (heads == fixed)).all()
        assert total(scores, heads) == pytest.approx(total(scores, allowed).max(), abs=1e-12)


def test_large_and_degenerate():
    assert best_tree(np.zeros((2, 2))).tolist() == [0]
    heads = best_tree(np.zeros((501, 501)))
    assert tree_fault(heads.tolist()) is None
    huge = best_tree(np.random.default_rng(0).normal(size=(201, 201)) * 1e200)
    assert tree_fault(huge.tolist()) is None


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 2)), "shape"),
        (np.zeros((1, 1)), "shape"),
        (np.zeros(3), "shape"),
        (np.full((3, 3), np.nan), "finite"),
        (np.full((3, 3), np.inf), "finite"),
    ],
)
def test_bad_scores(scores, message):
    with pytest.raises(ValueError, match=message):
        best_tree(scores)


@pytest.mark.parametrize("fixed", [[0], [0, 3], [1, 0], [-2, 0]])
def test_bad_fixed(fixed):
    with pytest.raises(ValueError, match="fixed|own head"):
        best_tree(np.zeros((3, 3)), fixed=fixed)
