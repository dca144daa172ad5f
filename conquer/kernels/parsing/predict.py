"""Parsing as a compiled loop over sentences."""

from conquer.kernels.core.kernel import sized
from conquer.kernels.core.sparse import dot
from conquer.kernels.parsing.arborescence import span
from conquer.kernels.parsing.edges import block, length
from conquer.kernels.parsing.numbering import head_of
from conquer.kernels.parsing.sentences import make_room, open_sentence, square


@sized(lambda weights, text, table, *_: 20 * len(text.codes) * table.salt.size)
def fill_heads(weights, text, table, value, several_roots, out):
    """out[N] = the head of every word of every sentence in the best tree under the weights (D,); -1 at roots."""
    room = make_room(text.offsets, table, value)
    for t in range(text.offsets.size - 1):
        source = open_sentence(text, t, table, room)
        size = length(source)
        scores = square(room.scores, size + 1)
        for j in range(1, size + 1):
            items = block(source, j)
            for i in range(size):
                scores[j, head_of(j, i)] = dot(items, i, weights)
        span(scores, room.free[: size + 1], several_roots, out[text.offsets[t] : text.offsets[t + 1]])
