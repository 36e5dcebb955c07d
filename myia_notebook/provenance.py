"""Where a node comes from: a range of the user's source, and how later stages derived the node from earlier ones.

On entry nothing is assumed. A `Span` counts lines from 1 and columns from 0 (in characters, end exclusive), as Python's
`ast` does after the UTF-8 offsets of `ast` have been turned into characters by the parser. A `Provenance` is a span plus a
chain: a node made by the gradient transform points to the primal node it differentiates, a node made by a rewrite points
to the node it replaced; so an optimized node still knows the source it came from.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text: `line` from 1, `column` from 0; the end is exclusive. `source` names the text (a cell, a file)."""

    line: int
    column: int
    end_line: int
    end_column: int
    source: str = "<myia>"

    def to_list(self) -> list[int]:
        return [self.line, self.column, self.end_line, self.end_column]

    def union(self, other: Span) -> Span:
        """The smallest span of the same text that covers both."""
        start = min((self.line, self.column), (other.line, other.column))
        end = max((self.end_line, self.end_column), (other.end_line, other.end_column))
        return Span(*start, *end, self.source)


@dataclass(frozen=True, slots=True)
class Provenance:
    """`span` in the user's source; `how` in one word; `origin` the id of the node (or graph) it was derived from."""

    span: Span | None = None
    how: str = "source"
    origin: int | None = None
    before: Provenance | None = None

    def derive(self, how: str, origin: int) -> Provenance:
        """The provenance of something made from a node that has this one. The span is kept."""
        return Provenance(self.span, how, origin, self)

    def chain(self) -> Iterator[Provenance]:
        step: Provenance | None = self
        while step is not None:
            yield step
            step = step.before


    @property
    def is_written(self) -> bool:
        """Whether this is a value that the user's program computes, and no part of a sensitivity or a tangent."""
        return self.span is not None and not any(step.how in ("◀", "∇", "tangent") for step in self.chain())


UNKNOWN = Provenance(None, "made")
