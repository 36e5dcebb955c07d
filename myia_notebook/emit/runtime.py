"""The machine's own memory: helpers in LLVM for the arena and the stack, compiled into every program.

    myia_arena_refill(size, top, end, chunks, used)   a fresh chunk with room for `size` bytes; the address, or 0 when memory is short
    myia_stack_grow(size, stack, sp, room, first)     doubles the stack until `size` more bytes fit; 0 when memory is short
    myia_free(chunks, stack)                          gives everything back

A program starts with a little memory of its own frame: the first part of the stack is at `first`, and is left, not freed. One chunk is kept from a program
to the next (`_spare`: its address; 16 MiB at most), so that a call pays for no page faults; whoever takes or leaves it holds the GIL. A chunk begins with
[address of the next, its bytes].
"""
from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from myia_notebook.emit.jit import TABLE

CHUNK = 1 << 18
KEPT = 16 << 20
_spare = ctypes.c_int64(0)
SPARE = ctypes.addressof(_spare)


def memory_limit() -> int:
    """Bytes that one program may take for its values; its frames may take a fourth of it. MYIA_MEMORY_LIMIT, or half of the memory of the machine or of its container."""
    given = os.environ.get("MYIA_MEMORY_LIMIT", "").strip()
    if given.isdecimal():
        return min(int(given), 1 << 62)
    sizes = []
    with contextlib.suppress(ValueError, OSError, AttributeError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(ValueError, OSError):
            sizes.append(int(Path(path).read_text()))
    return min(sizes, default=8 << 30) // 2


_limit = ctypes.c_int64(memory_limit())
LIMIT = ctypes.addressof(_limit)


def helpers(spare: int, limit: int, free: bool = False) -> str:
    """The helpers as LLVM assembly (opaque pointers). `spare` and `limit` are the places in the table of `SPARE` and `LIMIT`. In a `free` program, which
    runs without the GIL, no chunk is kept."""
    taken, left = ("add i64 0, 0", "add i64 0, 1") if free else ("load i64, ptr %spare",) * 2
    spare_address, limit_word = _linked("spare", spare), _linked("where", limit) + "\n  %limit = load i64, ptr %where"
    return f"""
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i64 @myia_arena_refill(i64 %size, ptr %top, ptr %end, ptr %chunks, ptr %used) noinline {{
{spare_address}
{limit_word}
  %kept = {taken}
  %none = icmp eq i64 %kept, 0
  br i1 %none, label %fresh, label %look
look:
  %k = inttoptr i64 %kept to ptr
  %kb = getelementptr i64, ptr %k, i64 1
  %kept_bytes = load i64, ptr %kb
  %least = add i64 %size, 128
  %small = icmp ult i64 %kept_bytes, %least
  br i1 %small, label %fresh, label %take
take:
  store i64 0, ptr %spare
  %before = load i64, ptr %used
  %with = add i64 %before, %kept_bytes
  br label %ok
fresh:
  %was = load i64, ptr %used
  %grow = lshr i64 %was, 1
  %big = icmp ugt i64 %grow, {CHUNK}
  %base = select i1 %big, i64 %grow, i64 {CHUNK}
  %capped = icmp ugt i64 %base, {64 << 20}
  %want = select i1 %capped, i64 {64 << 20}, i64 %base
  %room = add i64 %want, %size
  %bytes = add i64 %room, 128
  %total = add i64 %was, %bytes
  %over = icmp ugt i64 %total, %limit
  br i1 %over, label %no, label %try
try:
  %p = call ptr @malloc(i64 %bytes)
  %null = icmp eq ptr %p, null
  br i1 %null, label %no, label %ok
ok:
  %chunk = phi ptr [ %k, %take ], [ %p, %try ]
  %held = phi i64 [ %kept_bytes, %take ], [ %bytes, %try ]
  %sum = phi i64 [ %with, %take ], [ %total, %try ]
  store i64 %sum, ptr %used
  %a = ptrtoint ptr %chunk to i64
  %old = load i64, ptr %chunks
  store i64 %old, ptr %chunk
  %cb = getelementptr i64, ptr %chunk, i64 1
  store i64 %held, ptr %cb
  store i64 %a, ptr %chunks
  %b = add i64 %a, 127
  %first = and i64 %b, -64
  %next = add i64 %first, %size
  store i64 %next, ptr %top
  %last = add i64 %a, %held
  store i64 %last, ptr %end
  ret i64 %first
no:
  ret i64 0
}}

define internal i64 @myia_stack_grow(i64 %size, ptr %stack, ptr %sp, ptr %room, i64 %first) noinline {{
{limit_word}
  %old = load i64, ptr %stack
  %here = load i64, ptr %sp
  %end = load i64, ptr %room
  %have = sub i64 %end, %old
  %usedb = sub i64 %here, %old
  %double = shl i64 %have, 1
  %least = add i64 %size, 32768
  %want = add i64 %double, %least
  %part = lshr i64 %limit, 2
  %over = icmp ugt i64 %want, %part
  br i1 %over, label %no, label %try
try:
  %p0 = inttoptr i64 %old to ptr
  %is_first = icmp eq i64 %old, %first
  br i1 %is_first, label %leave, label %larger
leave:
  %m = call ptr @malloc(i64 %want)
  %mnull = icmp eq ptr %m, null
  br i1 %mnull, label %no, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %m, ptr %p0, i64 %usedb, i1 false)
  br label %got
larger:
  %r = call ptr @realloc(ptr %p0, i64 %want)
  br label %got
got:
  %p = phi ptr [ %m, %copy ], [ %r, %larger ]
  %null = icmp eq ptr %p, null
  br i1 %null, label %no, label %ok
ok:
  %a = ptrtoint ptr %p to i64
  store i64 %a, ptr %stack
  %new = add i64 %a, %usedb
  store i64 %new, ptr %sp
  %last = add i64 %a, %want
  store i64 %last, ptr %room
  ret i64 1
no:
  ret i64 0
}}

define void @myia_free_arena(i64 %chunks, i64 %stack) noinline {{
  call void @myia_free(i64 %chunks, i64 %stack)
  ret void
}}

define internal void @myia_free(i64 %chunks, i64 %stack) noinline {{
entry:
{spare_address}
  %s = inttoptr i64 %stack to ptr
  call void @free(ptr %s)
  br label %head
head:
  %c = phi i64 [ %chunks, %entry ], [ %next, %body ], [ %next, %keep ]
  %end = icmp eq i64 %c, 0
  br i1 %end, label %done, label %look
look:
  %p = inttoptr i64 %c to ptr
  %next = load i64, ptr %p
  %pb = getelementptr i64, ptr %p, i64 1
  %bytes = load i64, ptr %pb
  %small = icmp ule i64 %bytes, {KEPT}
  %kept = {left}
  %none = icmp eq i64 %kept, 0
  %both = and i1 %small, %none
  br i1 %both, label %keep, label %body
keep:
  store i64 %c, ptr %spare
  br label %head
body:
  call void @free(ptr %p)
  br label %head
done:
  ret void
}}
"""


def _linked(name: str, place: int) -> str:
    """The pointer at a place of the table."""
    return (f"  %{name}_place = getelementptr i64, ptr @{TABLE}, i64 {place}\n  %{name}_word = load i64, ptr %{name}_place, !invariant.load !{{}}\n"
            f"  %{name} = inttoptr i64 %{name}_word to ptr")
