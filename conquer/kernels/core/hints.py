"""What the source cannot say: which line to fetch early, which arrays nobody has to count. No result depends on it."""

from typing import Any

from conquer.kernels.core.kernel import overload, part, when_loaded

# Into the second-level cache: hints for the first hold one of its few buffers each until the line is there, and a
# round asks for more lines than the first level has room for.
_READ, _SECOND_LEVEL, _DATA = 0, 2, 1


def prefetch(array, row):
    """Start to load the line of `array[row]` (its first entry); any unsigned `row` is safe, even beyond the end."""


def borrowed(value):
    """An array, or a tuple of them and of numbers, without its count of holders.

    Compiled code counts a holder for every variable and every argument, by an operation that other memory accesses
    wait for. Whoever calls a kernel holds its arrays until it returns, so nothing has to be counted. A kernel must not
    return what it has borrowed, nor keep it.
    """
    return value


@part
def keep(value):
    """Nothing; but a variable that is named here has not been given up before, so that others may borrow it."""


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

    started: Any = hint
    overload(prefetch, lambda array, row: lambda array, row: started(array, row))

    def stripped(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            view = context.make_array(kind)(context, builder, value)
            view.meminfo = cgutils.get_null_value(view.meminfo.type)
            view.parent = cgutils.get_null_value(view.parent.type)
            return view._getvalue()
        if isinstance(kind, types.BaseTuple):
            within: Any = kind
            parts = cgutils.unpack_tuple(builder, value)
            made = [stripped(context, builder, *part) for part in zip(within.types, parts, strict=True)]
            return context.make_tuple(builder, kind, made)
        return value

    @intrinsic
    def strip(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return stripped(context, builder, signature.args[0], arguments[0])

        return value(value), generate

    uncounted: Any = strip
    overload(borrowed, lambda value: lambda value: uncounted(value))


when_loaded(_compiled)
