"""Arrays that a kernel looks at and its caller keeps: nobody has to count who else holds them."""

from typing import Any

from conquer.kernels.core.compile import part, stand_in, when_loaded


def borrowed(value):
    """An array, or a tuple of them and of numbers, without its count of holders.

    Compiled code counts a holder for every variable and every argument, by an operation that waits for all memory
    accesses before it: for a row of 150 entries that takes as long as its sum. Whoever calls a kernel holds its arrays
    until it returns. So a kernel must not return what it has borrowed, nor keep it.
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

    def borrow(value: Any) -> Any:
        return strip(value)  # type: ignore[call-arg]  # numba passes the typing context itself

    stand_in(borrowed, borrow)


when_loaded(_compiled)
