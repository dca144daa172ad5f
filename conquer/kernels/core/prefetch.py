"""The processor's hint to fetch a cache line early: it changes no result, only when the data is there."""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_READ, _KEEP_IN_ALL_CACHES, _DATA = 0, 3, 1


@intrinsic
def prefetch(typing_context, array, row):
    """Start to load the line of `array[row]` (its first entry); any unsigned `row` is safe, even beyond the end."""

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = cgutils.unpack_tuple(builder, view.strides)[0]
        offset = builder.mul(context.cast(builder, arguments[1], signature.args[1], types.uint64), stride)
        address = builder.gep(builder.bitcast(view.data, cgutils.voidptr_t), [offset])
        word = cgutils.int32_t
        kind = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [address.type, word, word, word])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(hint, [address, word(_READ), word(_KEEP_IN_ALL_CACHES), word(_DATA)])
        return context.get_dummy_value()

    return types.void(array, row), generate
