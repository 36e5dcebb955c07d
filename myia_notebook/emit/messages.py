"""Messages of a native program: it calls back with a number and the address of the values' words; Python prints the text, or keeps it for the
exception that follows."""
from __future__ import annotations

import ctypes
from typing import Any

from myia_notebook.emit.host import Last
from myia_notebook.emit.memory import read, read_words
from myia_notebook.ir.types import Tuple, Type
from myia_notebook.lower.plan import words
from myia_notebook.ops.messages import Form, written


class Messages:
    """The messages of one program. `address` is that of the C function which takes them."""

    def __init__(self) -> None:
        self.forms: list[tuple[Form, Tuple, bool]] = []
        self.last = Last()
        self._callback = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(self._take)
        self.address: int = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def add(self, form: Form, types: list[Type], prints: bool) -> int:
        self.forms.append((form, Tuple(tuple(types)), prints))
        return len(self.forms) - 1

    def _take(self, number: int, address: int) -> None:
        """At the address lies [0, values' words…]; the 0 becomes 1 when the text is written (see `emit.host`)."""
        try:
            form, t, prints = self.forms[number]
            values: Any = read(read_words(address + 8, len(words(t))), t)
            text = written(form, values)
            if prints:
                print(text, end="")
            else:
                self.last.text = text
            ctypes.c_int64.from_address(address).value = 1
        except BaseException as problem:  # kept, and raised when the program has ended
            self.last.problem = problem

    def problem(self) -> BaseException:
        """What went wrong in writing."""
        return self.last.taken()

    def taken(self) -> str | None:
        """The text kept for the exception that is raised now."""
        text, self.last.text = self.last.text, None
        return text
