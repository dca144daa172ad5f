"""Machine code of a kernel, made at once: what it calls is linked into it as it was written, and optimised with it.

Numba by itself optimises each function together with all that it calls, and makes machine code of it, before it is
linked into its callers: what is five calls deep goes through the optimiser six times, and all machine code but the
last is thrown away. The bits are the same either way, for the optimiser keeps to the arithmetic of the source.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import codegen, compiler, environment

_ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names of the places begin where machine code finds a function's Python objects."""


class _NoPlaces:
    """A part is nowhere in memory, so nothing can be put there; `WholeLibrary` does it where it has become code."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class PartLibrary(codegen.JITCodeLibrary):
    """A function that only compiled code calls: no machine code of its own."""

    codegen = _NoPlaces()

    def finalize(self) -> None:
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        """Nothing: it is done with the whole. The layout of data must be the same to be linked."""
        module.data_layout = self._codegen._data_layout

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def alone(self) -> Any:
        """Its own functions as a module, without those it calls."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """With all that it calls, for a caller that is not ours."""
        module = self.alone().clone()
        for library in _below(self):
            module.link_in(_module(library), preserve=True)
        return module

    @classmethod
    def _unserialize(cls, generator: Any, state: Any) -> Any:
        """A kernel that another one calls, from disk: not a part."""
        with _made_as(codegen.JITCodeLibrary, generator):
            return generator.unserialize_library(state)


class WholeLibrary(codegen.JITCodeLibrary):
    """A kernel with all that it calls."""

    def finalize(self) -> None:
        for library in _below(self):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_module(library), preserve=True)
        self._linking_libraries = []  # they are here
        super().finalize()
        generator: Any = self._codegen
        for place in self._final_module.global_variables:
            if place.name.startswith(_ENVIRONMENT):
                found = environment.lookup_environment(place.name)
                if found is not None:
                    generator.set_env(place.name, found)


def _below(library: Any) -> list[Any]:
    """The libraries that it calls, and those that they call, each once."""
    found: dict[Any, None] = {}
    waiting = list(library._linking_libraries)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each] = None
            if isinstance(each, PartLibrary):  # the others hold what they call
                waiting += each._linking_libraries
    return list(found)


def _module(library: Any) -> Any:
    return library.alone() if isinstance(library, PartLibrary) else library._get_module_for_linking()


@contextmanager
def _made_as(kind: type, generator: Any) -> Iterator[None]:
    """Whatever becomes a library meanwhile is of this kind, numba's own functions too."""
    before = generator._library_class
    generator._library_class = kind
    try:
        yield
    finally:
        generator._library_class = before


class KernelCompiler(compiler.Compiler):
    """Numba's compiler of one kernel. It holds the compiler's lock, so that nobody else's functions become parts."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        generator = self.state.targetctx.codegen()
        self.state.library = WholeLibrary(generator, function.__qualname__)
        self.state.library.enable_object_caching()
        with _made_as(PartLibrary, generator):
            return super().compile_extra(function)
