"""The table of rewrite rules, in families. `RULES` is their order of trial."""
from __future__ import annotations

from myia_notebook.optimize.rewriter import Rule
from myia_notebook.optimize.rules.arithmetic import ARITHMETIC
from myia_notebook.optimize.rules.array import ARRAY
from myia_notebook.optimize.rules.control import CONTROL
from myia_notebook.optimize.rules.environment import ENVIRONMENT
from myia_notebook.optimize.rules.tuples import TUPLE

RULES: tuple[Rule, ...] = (*TUPLE, *CONTROL, *ENVIRONMENT, *ARRAY, *ARITHMETIC)
STRUCTURAL: tuple[Rule, ...] = (*TUPLE, *CONTROL, *ENVIRONMENT)

__all__ = ["RULES", "STRUCTURAL"]
