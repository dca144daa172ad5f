"""The processor's hint to fetch a cache line early: it changes no result, only when the data is there."""

from typing import Any

from conquer.kernels.core.compile import stand_in, when_loaded

# Into the second-level cache: hints for the first hold one of its few buffers each until the line is there, and a
# round asks for more lines than the first level has room for.
_READ, _SECOND_LEVEL, _DATA = 0, 2, 1


def prefetch(array, row):
    """Start to load the line of `array[row]` (its first entry); any unsigned `row` is safe, even beyond the end."""


def _compiled() -> None:
    from numba import types
    from numba.core import cgutils as code
    from numba.extending import intrinsic

    cgutils: Any = code  # its types are not exported

    @intrinsic
    def hint(typing_context: Any, array: Any, row: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            stride = cgutils.unpack_tuple(builder, view.strides)[0]
            offset = builder.mul(context.cast(builder, arguments[1], signature.args[1], types.uint64), stride)
            address = builder.gep(builder.bitcast(view.data, cgutils.voidptr_t), [offset])
            word = cgutils.int32_t
            kind = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [address.type, word, word, word])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
            builder.call(fetch, [address, word(_READ), word(_SECOND_LEVEL), word(_DATA)])
            return context.get_dummy_value()

        return types.void(array, row), generate

    def fetch(array: Any, row: Any) -> None:
        hint(array, row)  # type: ignore[call-arg]  # numba passes the typing context itself

    stand_in(prefetch, fetch)


when_loaded(_compiled)
