"""How the edges of a sentence are numbered: word by word, heads ascending, none from a word to itself.

A sentence of n words (1 to n, the root is 0) has n * n edges. These functions are plain Python for callers; a kernel
that calls them compiles them into itself.
"""

from conquer.kernels.core.kernel import part


@part
def row_of(word, head):
    """The place of `head` among the n edges into `word`, from 0.

    >>> [row_of(2, head) for head in (0, 1, 3)]
    [0, 1, 2]
    """
    return head if head < word else head - 1


@part
def head_of(word, row):
    """The head of the edge at place `row` among those into `word`.

    >>> [head_of(2, row) for row in range(3)]
    [0, 1, 3]
    """
    return row if row < word else row + 1


@part
def edge_of(word, head, size):
    """The number of the edge from `head` to `word` in a sentence of `size` words.

    >>> edge_of(1, 0, 3), edge_of(2, 3, 3)
    (0, 5)
    """
    return (word - 1) * size + row_of(word, head)


@part
def ends_of(edge, size):
    """(word, head) of an edge: the inverse of `edge_of`.

    >>> ends_of(5, 3)
    (2, 3)
    """
    word = edge // size + 1
    return word, head_of(word, edge % size)
