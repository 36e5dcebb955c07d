"""myia_notebook: Python through a graph IR, differentiated by source transformation, shown step by step, run natively.

`%load_ext myia_notebook`, then `%%myia` cells. The public names are those of `__all__`; importing this package imports neither
Numba nor IPython.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from myia_notebook.errors import (
    MyiaAttributeError,
    MyiaError,
    MyiaIndexError,
    MyiaNameError,
    MyiaRecursionError,
    MyiaShapeError,
    MyiaSyntaxError,
    MyiaTypeError,
    MyiaValueError,
    MyiaWarning,
    MyiaZeroDivisionError,
)

if TYPE_CHECKING:
    from myia_notebook.api import grad, myia, value_and_grad
    from myia_notebook.cell import compile_source
    from myia_notebook.compilation import Compilation, explain
    from myia_notebook.derivatives import custom_gradient, hessian, jacobian, jvp, stop_gradient, vjp
    from myia_notebook.mapping import map_elements

__version__ = "0.1.0"
DERIVATIVES = ("custom_gradient", "hessian", "jacobian", "jvp", "stop_gradient", "vjp")
_LAZY = {**dict.fromkeys(DERIVATIVES, "derivatives"), "myia": "api", "grad": "api", "value_and_grad": "api", "compile_source": "cell",
         "explain": "compilation", "map_elements": "mapping", "Compilation": "compilation"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib
        value = getattr(importlib.import_module(f"myia_notebook.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'myia_notebook' has no attribute '{name}'")


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext myia_notebook`."""
    from myia_notebook.magic import load_ipython_extension as load
    load(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "myia-notebook"}]


__all__ = ["Compilation", "MyiaAttributeError", "MyiaError", "MyiaIndexError", "MyiaNameError", "MyiaRecursionError", "MyiaShapeError",
           "MyiaSyntaxError", "MyiaTypeError", "MyiaValueError", "MyiaWarning", "MyiaZeroDivisionError", "compile_source", "custom_gradient", "explain", "grad",
           "hessian", "jacobian", "jvp", "map_elements", "myia", "stop_gradient", "value_and_grad", "vjp"]
