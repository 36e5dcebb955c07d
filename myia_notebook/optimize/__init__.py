"""The optimizer: typed form in, a smaller and faster typed form of the same value out. See `optimize.driver`."""
from __future__ import annotations

from myia_notebook.optimize.driver import optimize
from myia_notebook.optimize.events import Recorder

__all__ = ["Recorder", "optimize"]
