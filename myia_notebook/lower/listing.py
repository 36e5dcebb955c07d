"""The machine's plan as text: each piece of code with its frame and its jumps."""
from __future__ import annotations

from typing import TYPE_CHECKING

from myia_notebook.ir.graph import callee_of, graph_constant, is_call_of, primitive_of, schedule
from myia_notebook.ir.text import Printer, node_names

if TYPE_CHECKING:
    from myia_notebook.lower.plan import Plan


NOTES = {"forward": "loop that fills the tape", "step": "take from the tape, one step back", "back": "backward pass, from the last step", "end": "the tape is empty"}


def listing(plan: Plan) -> str:
    """One paragraph for each graph."""
    from myia_notebook.lower.plan import words
    from myia_notebook.lower.recursion import BRANCH, PARTIAL
    from myia_notebook.ops.expression import Builder
    printer = Printer(plan.root)
    lines: list[str] = []
    for g in plan.graphs:
        names = node_names(g)
        head = "entry" if g.id in plan.entries else "in place"
        shown = ", ".join(f"{names[p.id]}:{''.join(words(Builder.type_of(p))) or '-'}" for p in g.parameters)
        note = NOTES.get(g.flags.get("tape", ""), "")
        lines.append(f"{printer.operand_graph(g)} ({shown})  [{head}{note and ': ' + note}]")
        for node in schedule(g):
            operands = ", ".join(printer.operand(x, names) for x in node.inputs[1:] if graph_constant(x) is None)
            is_tail = node is g.output
            target = callee_of(node)
            if target is not None:
                verb = "jump" if is_tail else "push; jump"
                what = f"{verb} {printer.operand_graph(target)} ({operands})"
            elif is_call_of(node, BRANCH):
                arms = " : ".join(printer.operand_graph(a) for x in node.inputs[2:4] if (a := graph_constant(x)) is not None)
                what = f"{'jump' if is_tail else 'choose'} {printer.operand(node.inputs[1], names)} ? {arms}"
            elif primitive_of(node) is PARTIAL:
                made = graph_constant(node.inputs[1])
                assert made is not None
                is_step = made.flags.get("tape") == "step"
                what = f"{'put on the tape' if is_step else 'closure'} {printer.operand_graph(made)} ({operands})"
            elif primitive_of(node) is None:
                what = f"{'jump' if is_tail else 'push; jump'} *{printer.operand(node.inputs[0], names)} ({operands})"
            else:
                what = f"{printer.operand(node.inputs[0], names)} {operands}"
            lines.append(f"    {names[node.id]:<8} = {what}")
        lines.append(f"    return {printer.operand(g.output, names)}" if callee_of(g.output) is None else "")
    return "\n".join(lines)
