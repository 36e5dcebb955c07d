"""LLVM assembly to machine code in this process.

    load(text, symbols, links)   an engine whose functions can be asked for by name

The text holds no address of this process: what a program takes from it (objects, constants, call-backs) stands in the table `TABLE`, which is filled in
here from `links`, and C functions go by name. So the machine code depends on the text, the compiler and the processor alone, and is taken from memory or
from the disk (`emit.disk`) where it was made before. LLVM runs in a thread of its own while the main thread waits, so that an interrupt is heard at once;
what was begun is finished, and found by the next call.
"""
from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import threading
from collections import OrderedDict
from typing import Any

from myia_notebook.emit.disk import open_places
from myia_notebook.errors import error

TABLE = "myia_links"
HELPERS = ("myia_arena_refill", "myia_stack_grow", "myia_free")
KEPT_BYTES = 32 << 20
_lock = threading.Lock()
_jobs: dict[str, _Job] = {}
_recent: OrderedDict[str, bytes] = OrderedDict()


@functools.cache
def target() -> tuple[Any, Any]:
    """(the LLVM binding, the host's target)"""
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm, llvm.Target.from_default_triple()


@functools.cache
def _processor() -> tuple[str, str]:
    """The name and the features of this processor."""
    llvm, _ = target()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _target_machine() -> Any:
    """A target machine of its own for each engine, which takes it over."""
    name, features = _processor()
    return target()[1].create_target_machine(opt=2, cpu=name, features=features, jit=True)


@functools.cache
def _compiler() -> str:
    """What machine code depends on besides the text."""
    import llvmlite
    import numpy

    import myia_notebook
    llvm, _ = target()
    return "\n".join(map(str, (myia_notebook.__version__, llvmlite.__version__, llvm.llvm_version_info, numpy.__version__, platform.python_implementation(),
                               platform.python_version(), *platform.libc_ver(), llvm.get_default_triple(), *_processor())))


def key_of(text: str) -> str:
    """The name of the machine code of a text."""
    return hashlib.sha256(f"{_compiler()}\n\n{text}".encode()).hexdigest()


def load(text: str, symbols: set[str], links: list[int]) -> Any:
    """The program in memory, ready to run. Raises M801 where a C function is missing."""
    addresses = {name: symbol_address(name) for name in sorted({*symbols, "malloc", "realloc", "free"} - set(HELPERS))}
    content = _machine_code(text)
    llvm, _ = target()
    with _lock:
        for name, address in addresses.items():
            llvm.add_symbol(name, address)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(content))
        engine.finalize_object()
    table = engine.get_global_value_address(TABLE)
    ctypes.memmove(table, (ctypes.c_int64 * len(links))(*links), 8 * len(links))
    return engine


def _machine_code(text: str) -> bytes:
    """An object file: remembered, from the disk, or made now."""
    key = key_of(text)
    with _lock:
        found = _recent.get(key)
        if found is not None:
            _recent.move_to_end(key)
            return found
    places = open_places()
    for place in places:
        found = place.get(key)
        if found is not None:
            _remember(key, found)
            return found
    return _made(key, text)


def _remember(key: str, content: bytes) -> None:
    with _lock:
        _recent[key] = content
        while sum(map(len, _recent.values())) > KEPT_BYTES and len(_recent) > 1:
            _recent.popitem(last=False)


class _Job:
    """One run of LLVM, which any number of threads wait for."""

    def __init__(self, key: str, text: str) -> None:
        self.key, self.text = key, text
        self.done = threading.Event()
        self.content = b""
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self.content = _compile(self.text)
            _remember(self.key, self.content)
        except BaseException as problem:
            self.problem = problem
        finally:
            with _lock:
                _jobs.pop(self.key, None)
            self.done.set()
        if self.problem is None:
            for place in open_places():
                place.put(self.key, self.content)


def _made(key: str, text: str) -> bytes:
    with _lock:
        job = _jobs.get(key)
        is_new = job is None
        if job is None:
            job = _jobs[key] = _Job(key, text)
    if is_new:
        if threading.current_thread() is threading.main_thread():
            threading.Thread(target=job.run, name="myia compile").start()
        else:
            job.run()
    job.done.wait()
    if job.problem is not None:
        raise job.problem
    return job.content


def _forget_jobs() -> None:
    """A forked process has none of its parent's threads."""
    global _lock
    _lock = threading.Lock()
    _jobs.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_jobs)


def _compile(text: str) -> bytes:
    llvm, _ = target()
    machine = _target_machine()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_default_triple()
    module.data_layout = str(machine.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


@functools.cache
def symbol_address(name: str) -> int:
    """The address of a C function of this process or of libm. A missing one is an error here, never a jump to 0."""
    for library in (ctypes.pythonapi, ctypes.CDLL(None), _libm()):
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    raise error("M801", message=f"the C function '{name}' is not available here", hint="use backend='vm'")


@functools.cache
def _libm() -> Any:
    import ctypes.util
    return ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


__all__ = ["HELPERS", "TABLE", "key_of", "load"]
