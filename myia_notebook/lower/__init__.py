"""Lowering: from optimized graphs to the plan of a machine. See `lower.plan`."""
from __future__ import annotations

from myia_notebook.lower.plan import Plan, lower

__all__ = ["Plan", "lower"]
