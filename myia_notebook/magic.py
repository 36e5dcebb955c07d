"""The IPython magics: `%%myia` compiles, runs and shows a cell; `%myia EXPR` explains one expression; `%%myia_exercise` judges an answer.

The text of a cell is never altered or expanded (`no_var_expand`): braces and dollars are the user's. Everything that a cell does
without IPython is `cell.run_cell`.
"""
from __future__ import annotations

import shlex
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import MagicArgumentParser, argument, magic_arguments

from myia_notebook.cell import CellOptions, explain_expression, run_cell
from myia_notebook.errors import MyiaError, MyiaSyntaxError
from myia_notebook.pipeline import BACKENDS, STAGES

STAGE_NAMES = tuple(name for name, _ in STAGES)


def split_line(line: str) -> list[str]:
    """The words of a magic's line: quotes group, and a `#` that starts a word begins a comment."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words: list[str] = []
        for word in lexer:
            words.append(word)
        return _cut_comment(line, words)
    except ValueError as problem:
        raise UsageError(f"%%myia: {problem} in {line!r}") from None


def _cut_comment(line: str, words: list[str]) -> list[str]:
    """Drops the words from the first unquoted `#` that begins a word."""
    quote = ""
    previous = " "
    for position, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and previous.isspace():
            return split_line(line[:position])
        previous = letter
    return words


@magics_class
class MyiaMagics(Magics):
    """Holds the magics of this extension for one shell."""

    @magic_arguments("%%myia")
    @argument("--backend", choices=BACKENDS, default=None, help="where the program runs (default: numba)")
    @argument("-s", "--stage", choices=STAGE_NAMES, default=None, help="the stage that the widget opens at")
    @argument("-o", "--out", metavar="NAME", default=None, help="bind the Compilation to this name")
    @argument("-q", "--quiet", action="store_true", help="show the value only, no widget")
    @argument("--static", action="store_true", help="show a static picture (SVG) in place of the widget")
    @argument("--check", action="store_true", help="verify that every stage is well formed and gives the same value, and compare derivatives with differences")
    @argument("-v", "--verbose", action="store_true", help="print each stage's time and size")
    @argument("--height", type=int, default=None, metavar="PX", help="height of the widget in pixels")
    @argument("expression", nargs="*", help="(line magic only) the expression to explain")
    @no_var_expand
    @line_cell_magic("myia")
    def myia(self, line: str, cell: str | None = None) -> Any:
        """Compile, run and show Python through a graph IR.

        The functions defined in the cell become compiled functions of the notebook. The last expression is compiled as a program
        whose literals and notebook variables are its inputs; its value is displayed, and above it the stages: parsed, typed,
        adjoint, optimized, lowered, code. A trailing `;` hides the display. `grad(f)(x)` is the derivative of f at x.

        Example::

            %%myia
            def power(x, n):
                y = 1.0
                while n > 0:
                    y = y * x
                    n = n - 1
                return y

            grad(power)(1.5, 4)
        """
        parser: MagicArgumentParser = self.myia.parser  # type: ignore[attr-defined]
        if cell is None:
            return self._explain_line(parser, line)
        options = self._options(parser, split_line(line))
        if options.expression:
            raise UsageError(f"%%myia: unrecognized arguments: {' '.join(options.expression)}")
        self._check_name(options.out)
        assert self.shell is not None
        try:
            result = run_cell(cell, self.shell.user_ns, _cell_options(options), _cell_name(self.shell))
        except MyiaSyntaxError as problem:
            raise _shown(problem) from None
        return self._show(result, options)

    @no_var_expand
    @cell_magic("myia_exercise")
    def myia_exercise(self, line: str, cell: str) -> Any:
        """`%%myia_exercise NAME`: runs the cell as `%%myia` does, then judges the function that the exercise asks for.

        A cell that does not define this function yet shows the task. `%%myia_exercise` alone lists the exercises.
        """
        from myia_notebook.course import EXERCISES
        from myia_notebook.exercise import check, exercise_named
        assert self.shell is not None
        words = split_line(line)
        if len(words) != 1:
            print("\n".join(f"{e.name:15} {e.task}" for e in EXERCISES.values()))
            return None
        try:
            exercise = exercise_named(words[0])
        except ValueError as problem:
            raise UsageError(f"%%myia_exercise: {problem}") from None
        namespace = {**self.shell.user_ns}
        namespace.pop(exercise.function, None)
        try:
            result = run_cell(cell, namespace, CellOptions(observe=False), _cell_name(self.shell))
        except MyiaSyntaxError as problem:
            raise _shown(problem) from None
        if result.problem is not None:
            raise _shown(result.problem) if isinstance(result.problem, MyiaSyntaxError) else result.problem
        if exercise.function not in namespace:
            print(f"{exercise.name}: {exercise.task}. Define {exercise.function}.")
            return None
        self.shell.user_ns.update({k: v for k, v in namespace.items() if self.shell.user_ns.get(k) is not v})
        return check(exercise.name, namespace[exercise.function])

    def _options(self, parser: MagicArgumentParser, words: list[str]) -> Any:
        try:
            return parser.parse_args(words)
        except UsageError as problem:
            raise UsageError(f"%%myia: {_one_line(problem)}") from None
        except SystemExit:  # -h printed the help
            raise UsageError("%%myia: see %%myia?") from None

    def _explain_line(self, parser: MagicArgumentParser, line: str) -> Any:
        """`%myia [options] EXPR`: options are the leading words that begin with a dash."""
        words = line.split()
        taken = 0
        takes_value = {"--backend", "-s", "--stage", "-o", "--out", "--height"}
        while taken < len(words) and words[taken].startswith("-") and not words[taken].lstrip("-").replace(".", "").isdigit():
            taken += 2 if words[taken] in takes_value else 1
        options = self._options(parser, words[:taken])
        expression = line.split(None, taken)[taken] if taken < len(words) else ""
        if not expression:
            raise UsageError("%myia: give an expression, or use %%myia for a cell")
        self._check_name(options.out)
        assert self.shell is not None
        return self._show(explain_expression(expression, self.shell.user_ns, _cell_options(options), _cell_name(self.shell)), options)

    @staticmethod
    def _check_name(name: str | None) -> None:
        if name is not None and not name.isidentifier():
            raise UsageError(f"%%myia: --out takes a variable's name, not {name!r}")

    def _show(self, result: Any, options: Any) -> Any:
        """Binds, prints and displays what a cell gave; returns the value for Out[n]."""
        from IPython.display import display
        assert self.shell is not None
        compilation = result.compilation
        if options.out and compilation is not None:
            self.shell.user_ns[options.out] = compilation
        if options.verbose and compilation is not None:
            print(compilation.table())
        if compilation is not None and not options.quiet and not result.is_hidden:
            display(compilation.display(static=options.static, height=options.height, stage=options.stage))
        problem: MyiaError | None = result.problem
        if problem is not None:
            raise _shown(problem) if isinstance(problem, MyiaSyntaxError) else problem
        return None if result.is_hidden else result.value


def _shown(problem: MyiaError) -> MyiaError:
    """A syntax error of the user's cell in a class that IPython shows as it is (it redraws SyntaxErrors with its own frames)."""
    return MyiaError(problem.message, problem.code, problem.span, problem.hint, problem.kind, problem.source)


def _cell_options(options: Any) -> CellOptions:
    return CellOptions(backend=options.backend, check=options.check, observe=not options.quiet or bool(options.out) or options.verbose)


def _cell_name(shell: Any) -> str:
    return f"<myia cell {shell.execution_count}>"


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())


def complete_options(shell: Any, event: Any) -> list[str]:
    """Completion on a magic's line: its options, and what `--backend` and `--stage` take."""
    words = event.text_until_cursor.split()
    before = words[-1] if event.text_until_cursor[-1:].isspace() else words[-2] if len(words) > 1 else ""
    choices = {"--backend": BACKENDS, "--stage": STAGE_NAMES, "-s": STAGE_NAMES}.get(before)
    if choices is None:
        choices = tuple(flag for action in MyiaMagics.myia.parser._actions for flag in action.option_strings if flag.startswith("--"))  # type: ignore[attr-defined]
    return [choice for choice in choices if choice.startswith(event.symbol)]


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext myia_notebook`: registers the magics and puts `myia`, `grad` and the other derivatives into the notebook's
    namespace where these names are free."""
    import myia_notebook
    from myia_notebook.view.live import serve
    shell.register_magics(MyiaMagics)
    serve()
    for name in ("%%myia", "%myia"):
        shell.set_hook("complete_command", complete_options, str_key=name)
    for name in ("grad", "value_and_grad", "myia", *myia_notebook.DERIVATIVES):
        shell.user_ns.setdefault(name, getattr(myia_notebook, name))
