"""Programs in textual form for the rules that are functions, and for the passes: one that a rule must change, and one that it must not."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """`rule` alone runs on `text`; it must change the program, or not (`fires`), and never its value on `arguments`."""

    rule: str
    fires: bool
    text: str
    arguments: tuple[tuple[Any, ...], ...]
    expect: str = ""


A = np.array([[1.0, -2.0, 0.5], [4.0, 0.25, -1.0]])
V = np.array([1.5, -0.5, 2.0])
REALS = ((1.5,), (-2.0,), (0.0,))
PAIRS = ((True, 1.5), (False, -2.0))

_ARMS = """
@g(x: float) -> float:
  %1 : float = sin(x)
  return %1

@h(x: float) -> float:
  %1 : float = cos(x)
  return %1
"""
_CLOSURES = """
@g[1](a: float, x: float) -> float:
  %1 : float = multiply(a, x)
  return %1

@h[1](a: float, x: float) -> float:
  %1 : float = add(a, x)
  return %1
"""

CASES: tuple[Case, ...] = (
    # tuples
    Case("get_of_make", True, "@f(x: float) -> float:\n  t : (float, int) = make_tuple(x, 2)\n  %1 : float = tuple_getitem(t, 0)\n  return %1\n", REALS),
    Case("get_of_make", False, "@f(t: (float, int)) -> float:\n  %1 : float = tuple_getitem(t, 0)\n  return %1\n", (((1.5, 2),),)),
    Case("get_of_constant", True, "@f() -> float:\n  %1 : float = tuple_getitem((1.5, 2), 0)\n  return %1\n", ((),)),
    Case("get_of_switch", True, "@f(c: bool, s: (float, int), t: (float, int)) -> float:\n  %1 : (float, int) = switch(c, s, t)\n"
         "  %2 : float = tuple_getitem(%1, 0)\n  return %2\n", ((True, (1.0, 2), (3.0, 4)), (False, (1.0, 2), (3.0, 4)))),
    Case("get_through_call", True, "@f(x: float) -> float:\n  t : (float, float) = @g(x)\n  %1 : float = tuple_getitem(t, 1)\n  return %1\n\n"
         "@g(x: float) -> (float, float):\n  %1 : float = sin(x)\n  %2 : (float, float) = make_tuple(%1, x)\n  return %2\n", REALS),
    Case("get_through_call", False, "@f(x: float) -> float:\n  t : (float, float) = @g(x)\n  %1 : float = tuple_getitem(t, 0)\n  return %1\n\n"
         "@g(x: float) -> (float, float):\n  %1 : float = sin(x)\n  %2 : (float, float) = make_tuple(%1, x)\n  return %2\n", REALS),
    Case("tuple_of_items", True, "@f(t: (float, int)) -> (float, int):\n  %1 : float = tuple_getitem(t, 0)\n  %2 : int = tuple_getitem(t, 1)\n"
         "  %3 : (float, int) = make_tuple(%1, %2)\n  return %3\n", (((1.5, 2),),)),
    Case("tuple_of_items", False, "@f(t: (float, float)) -> (float, float):\n  %1 : float = tuple_getitem(t, 1)\n  %2 : float = tuple_getitem(t, 0)\n"
         "  %3 : (float, float) = make_tuple(%1, %2)\n  return %3\n", (((1.5, 2.0),),)),
    Case("sum_with_zero", True, "@f(t: (float, float)) -> (float, float):\n  %1 : (float, float) = add_sensitivities(t, zero<(float, float)>)\n  return %1\n", (((1.5, 2.0),),)),
    Case("sum_of_tuples", True, "@f(s: (float, float), t: (float, float)) -> (float, float):\n  %1 : (float, float) = add_sensitivities(s, t)\n  return %1\n",
         (((1.5, 2.0), (0.5, -1.0)),)),
    # control
    Case("call_of_partial", True, "@f(a: float, x: float) -> float:\n  p : fn<@g | @h> = partial(@g, a)\n  %1 : float = p(x)\n  return %1\n" + _CLOSURES, ((2.0, 3.0),)),
    Case("call_of_partial", False, "@f(c: bool, a: float) -> float:\n  p : fn<@g | @h> = partial(@g, a)\n  q : fn<@g | @h> = partial(@h, a)\n"
         "  r : fn<@g | @h> = switch(c, p, q)\n  %1 : float = r(a)\n  return %1\n" + _CLOSURES, PAIRS),
    Case("call_of_only_member", True, "@f(c: bool, x: float) -> float:\n  p : fn<@g> = switch(c, @g, @g)\n  %1 : float = p(x)\n  return %1\n\n"
         "@g(x: float) -> float:\n  %1 : float = sin(x)\n  return %1\n", PAIRS),
    Case("inline", True, "@f(x: float) -> float:\n  %1 : float = @g(x)\n  return %1\n\n@g(x: float) -> float:\n  %1 : float = sin(x)\n  return %1\n", REALS),
    Case("inline", False, "@f(n: int) -> int:\n  %1 : bool = less(n, 3)\n  %2 : int = branch(%1, @again, @stop, n)\n  return %2\n\n"
         "@again(n: int) -> int:\n  %1 : int = add(n, 1)\n  %2 : int = @f(%1)\n  return %2\n\n@stop(n: int) -> int:\n  return n\n", ((0,), (5,))),
    Case("branch_on_constant", True, "@f(x: float) -> float:\n  %1 : float = branch(True, @g, @h, x)\n  return %1\n" + _ARMS, REALS),
    Case("branch_on_constant", False, "@f(c: bool, x: float) -> float:\n  %1 : float = branch(c, @g, @h, x)\n  return %1\n" + _ARMS, PAIRS),
    Case("branch_of_same", True, "@f(c: bool, x: float) -> float:\n  %1 : float = branch(c, @g, @h, x)\n  return %1\n\n@g(x: float) -> float:\n  return x\n\n"
         "@h(x: float) -> float:\n  return x\n", PAIRS),
    Case("branch_of_same", False, "@f(c: bool, x: float, y: float) -> float:\n  %1 : float = branch(c, @g, @h, x, y)\n  return %1\n\n"
         "@g(x: float, y: float) -> float:\n  return x\n\n@h(x: float, y: float) -> float:\n  return y\n", ((True, 1.0, 2.0), (False, 1.0, 2.0))),
    Case("branch_on_not", True, "@f(c: bool, x: float) -> float:\n  %1 : bool = logical_not(c)\n  %2 : float = branch(%1, @g, @h, x)\n  return %2\n" + _ARMS, PAIRS),
    Case("branch_to_switch", True, "@f(c: bool, x: float) -> float:\n  %1 : float = branch(c, @g, @h, x)\n  return %1\n\n@g(x: float) -> float:\n  return x\n\n"
         "@h(x: float) -> float:\n  %1 : float = negative(x)\n  return %1\n", PAIRS),
    Case("branch_to_switch", False, "@f(c: bool, x: float) -> float:\n  %1 : float = branch(c, @g, @h, x)\n  return %1\n\n@g(x: float) -> float:\n  return x\n\n"
         "@h(x: float) -> float:\n  %1 : float = python_divide(1.0, x)\n  return %1\n", ((True, 0.0), (False, 2.0))),
    Case("switch_on_constant", True, "@f(x: float) -> float:\n  %1 : float = switch(False, x, 2.0)\n  return %1\n", REALS),
    Case("switch_on_constant", True, "@f(c: bool) -> float:\n  %1 : float = switch(c, 2.0, 2.0)\n  return %1\n", ((True,),)),
    Case("switch_on_constant", False, "@f(c: bool) -> float:\n  %1 : float = switch(c, 0.0, -0.0)\n  return %1\n", ((True,), (False,))),
    Case("switch_on_not", True, "@f(c: bool, x: float) -> float:\n  %1 : bool = logical_not(c)\n  %2 : float = switch(%1, x, 2.0)\n  return %2\n", PAIRS),
    Case("switch_of_truths", True, "@f(c: bool) -> bool:\n  %1 : bool = switch(c, False, True)\n  return %1\n", ((True,), (False,))),
    Case("switch_of_truths", False, "@f(c: bool, d: bool) -> bool:\n  %1 : bool = switch(c, False, d)\n  return %1\n", ((True, True), (False, True))),
    Case("sequence_of_constant", True, "@f(x: float) -> float:\n  %1 : float = sequence(1, x)\n  return %1\n", REALS),
    Case("sequence_of_constant", False, "@f(x: float) -> float:\n  %1 : float = math_sqrt(x)\n  %2 : float = sequence(%1, x)\n  return %2\n", ((1.5,),)),
    # environments and closures
    Case("env_get_of_make", True, "@f(a: float) -> float:\n  e : env<@g | @h> = env_make(#g, a)\n  %1 : float = env_get(e, #g, 0)\n  %2 : float = env_get(e, #h, 0)\n"
         "  %3 : float = add(%1, %2)\n  p : fn<@g | @h> = partial(@g, a)\n  q : fn<@g | @h> = partial(@h, a)\n  %4 : float = p(%3)\n  %5 : float = q(%4)\n  return %5\n" + _CLOSURES, REALS),
    Case("env_get_of_sum", True, "@f(d: env<@g>, e: env<@g>) -> float:\n  %1 : env<@g> = add_sensitivities(d, e)\n  %2 : float = env_get(%1, #g, 0)\n  return %2\n\n"
         "@g[1](a: float, x: float) -> float:\n  return a\n", ()),
    Case("env_get_of_switch", True, "@f(c: bool, a: float) -> float:\n  d : env<@g> = env_make(#g, a)\n  e : env<@g> = env_make(#g, 2.0)\n  %1 : env<@g> = switch(c, d, e)\n"
         "  %2 : float = env_get(%1, #g, 0)\n  return %2\n\n@g[1](a: float, x: float) -> float:\n  return a\n", PAIRS),
    Case("sum_of_environments", True, "@f(a: float) -> float:\n  d : env<@g> = env_make(#g, a)\n  e : env<@g> = env_make(#g, 2.0)\n  %1 : env<@g> = add_sensitivities(d, e)\n"
         "  %2 : float = env_get(%1, #g, 0)\n  return %2\n\n@g[1](a: float, x: float) -> float:\n  return a\n", REALS),
    Case("env_make_of_zeros", True, "@f(x: float) -> float:\n  e : env<@g> = env_make(#g, zero<float>)\n  %1 : float = env_get(e, #g, 0)\n  %2 : float = add(%1, x)\n  return %2\n\n"
         "@g[1](a: float, x: float) -> float:\n  return a\n", REALS),
    Case("closure_is_known", True, "@f(a: float) -> bool:\n  p : fn<@g | @h> = partial(@g, a)\n  q : fn<@g | @h> = partial(@h, a)\n  %1 : bool = closure_is(p, #g)\n"
         "  %2 : bool = closure_is(q, #g)\n  %3 : bool = not_equal(%1, %2)\n  return %3\n" + _CLOSURES, REALS),
    Case("closure_get_known", True, "@f(a: float) -> float:\n  p : fn<@g | @h> = partial(@g, a)\n  %1 : float = closure_get(p, #g, 0)\n  q : fn<@g | @h> = partial(@h, a)\n"
         "  %2 : float = q(%1)\n  return %2\n" + _CLOSURES, REALS),
    # arrays
    Case("to_same_shape", True, "@f(x: float64[2, 3]) -> float64[2, 3]:\n  %1 : float64[2, 3] = reshape(x, (2, 3))\n  return %1\n", ((A,),)),
    Case("to_same_shape", False, "@f(x: float64[2, 2]) -> float64[2, 2]:\n  %1 : float64[2, 2] = transpose(x, (1, 0))\n  return %1\n", ((A[:, :2],),)),
    Case("reshape_of_reshape", True, "@f(x: float64[2, 3]) -> float64[6]:\n  %1 : float64[3, 2] = reshape(x, (3, 2))\n  %2 : float64[6] = reshape(%1, (6,))\n  return %2\n", ((A,),)),
    Case("transpose_of_transpose", True, "@f(x: float64[2, 3]) -> float64[2, 3]:\n  %1 : float64[3, 2] = transpose(x, (1, 0))\n  %2 : float64[2, 3] = transpose(%1, (1, 0))\n  return %2\n", ((A,),)),
    Case("transpose_of_transpose", True, "@f(x: float64[1, 2, 3]) -> float64[3, 1, 2]:\n  %1 : float64[2, 3, 1] = transpose(x, (1, 2, 0))\n"
         "  %2 : float64[3, 1, 2] = transpose(%1, (1, 2, 0))\n  return %2\n", ((A.reshape(1, 2, 3),),)),
    Case("add_at_place", True, "@f(x: float64[3], d: float64) -> float64[3]:\n  %1 : float64[3] = scatter(d, (3,), ('int',), 1)\n  %2 : float64[3] = add(x, %1)\n  return %2\n",
         ((V, np.float64(2.0)),)),
    Case("broadcast_operand", True, "@f(x: float64, y: float64[3]) -> float64[3]:\n  %1 : float64[3] = broadcast_to(x, (3,))\n  %2 : float64[3] = multiply(%1, y)\n  return %2\n",
         ((np.float64(2.0), V),)),
    Case("broadcast_operand", False, "@f(x: float64) -> float64[3]:\n  %1 : float64[3] = broadcast_to(x, (3,))\n  %2 : float64[3] = sin(%1)\n  return %2\n", ((np.float64(2.0),),)),
    Case("broadcast_outward", True, "@f(x: float64) -> float64[3]:\n  %1 : float64[3] = broadcast_to(x, (3,))\n  %2 : float64[3] = sin(%1)\n  return %2\n", ((np.float64(2.0),),)),
    Case("broadcast_outward", True, "@f(x: float64[3]) -> float64[2, 3]:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n  %2 : float64[2, 3] = subtract(1.0, %1)\n  return %2\n", ((V,),)),
    Case("broadcast_outward", False, "@f(x: float64[3], y: float64[2, 3]) -> float64[2, 3]:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n"
         "  %2 : float64[2, 3] = add(%1, y)\n  return %2\n", ((V, A),)),
    Case("reshape_of_broadcast", True, "@f(x: float64) -> float64[6]:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n  %2 : float64[6] = reshape(%1, (6,))\n  return %2\n", ((np.float64(2.0),),)),
    Case("reshape_of_broadcast", False, "@f(x: float64[3]) -> float64[6]:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n  %2 : float64[6] = reshape(%1, (6,))\n  return %2\n", ((V,),)),
    Case("broadcast_of_broadcast", True, "@f(x: float64[3]) -> float64[4, 2, 3]:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n  %2 : float64[4, 2, 3] = broadcast_to(%1, (4, 2, 3))\n  return %2\n", ((V,),)),
    Case("sum_of_broadcast", True, "@f(x: float64[3]) -> float64[3]:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n  %2 : float64[3] = sum_to(%1, (3,))\n  return %2\n", ((V,),)),
    Case("sum_of_broadcast", True, "@f(x: float64) -> float64:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n  %2 : float64 = reduce_sum(%1, (0, 1), False)\n  return %2\n", ((np.float64(1.5),),)),
    Case("sum_of_broadcast", False, "@f(x: float64[3]) -> float64[2]:\n  %1 : float64[2, 3] = broadcast_to(x, (2, 3))\n  %2 : float64[2] = reduce_sum(%1, (1,), False)\n  return %2\n", ((V,),)),
    Case("sum_of_sum", True, "@f(x: float64[2, 3]) -> float64:\n  %1 : float64[2] = reduce_sum(x, (1,), False)\n  %2 : float64 = reduce_sum(%1, (0,), False)\n  return %2\n", ((A,),)),
    Case("sum_of_sum", False, "@f(x: float64[2, 3]) -> float64[1]:\n  %1 : float64[2] = reduce_sum(x, (1,), False)\n  %2 : float64[1] = reduce_sum(%1, (0,), True)\n  return %2\n", ((A,),)),
    Case("factor_out_of_sum", True, "@f(a: float64, x: float64[3]) -> float64:\n  %1 : float64[3] = multiply(a, x)\n  %2 : float64 = reduce_sum(%1, (0,), False)\n  return %2\n", ((np.float64(0.3), V),)),
    Case("factor_out_of_sum", True, "@f(x: float64[3]) -> float64:\n  %1 : float64[3] = negative(x)\n  %2 : float64 = reduce_sum(%1, (0,), False)\n  return %2\n", ((V,),)),
    Case("factor_out_of_sum", False, "@f(x: float64[3], y: float64[3]) -> float64:\n  %1 : float64[3] = multiply(y, x)\n  %2 : float64 = reduce_sum(%1, (0,), False)\n  return %2\n", ((V, V),)),
    Case("matmul_order", True, "@f(a: float64[2, 3], b: float64[3, 2], c: float64[2]) -> float64[2]:\n  %1 : float64[2, 2] = matmul(a, b)\n  %2 : float64[2] = matmul(%1, c)\n  return %2\n",
         ((A, A.T + 1.0, V[:2]),), "@f(a: float64[2, 3], b: float64[3, 2], c: float64[2]) -> float64[2]:\n  %1 : float64[3] = matmul(b, c)\n  %2 : float64[2] = matmul(a, %1)\n  return %2"),
    Case("matmul_order", True, "@f(c: float64[2], a: float64[2, 3], b: float64[3, 2]) -> float64[2]:\n  %1 : float64[2, 2] = matmul(a, b)\n  %2 : float64[2] = matmul(c, %1)\n  return %2\n",
         ((V[:2], A, A.T + 1.0),)),
    Case("matmul_order", False, "@f(a: float64[2, 3], b: float64[3, 2], c: float64[2]) -> float64[2]:\n  %1 : float64[3] = matmul(b, c)\n  %2 : float64[2] = matmul(a, %1)\n  return %2\n",
         ((A, A.T + 1.0, V[:2]),)),
    # arithmetic by functions
    Case("fold_constants", True, "@f() -> float:\n  %1 : float = sin(0.5)\n  return %1\n", ((),)),
    Case("fold_constants", True, "@f() -> int:\n  %1 : int = add(2, 3)\n  return %1\n", ((),)),
    Case("fold_constants", False, "@f(x: float) -> float:\n  %1 : float = add(x, 1.0)\n  return %1\n", REALS),
    Case("cast_to_same", True, "@f(x: float) -> float:\n  %1 : float = cast(x, <float>)\n  return %1\n", REALS),
    Case("cast_to_same", False, "@f(x: int) -> float:\n  %1 : float = cast(x, <float>)\n  return %1\n", ((3,),)),
    # passes
    Case("strong products", True, "@f(d: float, x: float) -> float:\n  %1 : float = strong_multiply(d, x)\n  return %1\n", ((2.0, 3.0),)),
    Case("strong products", False, "@f(c: bool, x: float) -> float:\n  %1 : float = where(c, 1.0, 0.0)\n  %2 : float = strong_multiply(%1, x)\n  return %2\n", ((False, float("inf")), (True, 2.0))),
    Case("strong products", True, "@f(n: int, d: float, x: float) -> float:\n  t : (float, float) = @loop(n, d)\n  %1 : float = tuple_getitem(t, 1)\n"
         "  %2 : float = strong_multiply(%1, x)\n  return %2\n\n@loop(n: int, d: float) -> (float, float):\n  %1 : bool = less(n, 3)\n"
         "  %2 : (float, float) = branch(%1, @again, @stop, n, d)\n  return %2\n\n@again(n: int, d: float) -> (float, float):\n  %1 : int = add(n, 1)\n"
         "  %2 : (float, float) = @loop(%1, d)\n  return %2\n\n@stop(n: int, d: float) -> (float, float):\n  %1 : (float, float) = make_tuple(zero<float>, d)\n  return %1\n", ((0, 2.0, 3.0),)),
    Case("strong products", False, "@f(d: float, x: float) -> float:\n  t : (float, float) = make_tuple(d, zero<float>)\n  %1 : float = tuple_getitem(t, 1)\n"
         "  %2 : float = strong_multiply(%1, x)\n  return %2\n", ((2.0, float("inf")),)),
    Case("sums and products", True, "@f(x: float, y: float) -> float:\n  %1 : float = multiply(x, y)\n  %2 : float = multiply(y, x)\n  %3 : float = negative(%2)\n"
         "  %4 : float = subtract(%3, %1)\n  return %4\n", ((1.5, -2.0),),
         "@f(x: float, y: float) -> float:\n  %1 : float = multiply(x, y)\n  %2 : float = multiply(2.0, %1)\n  %3 : float = negative(%2)\n  return %3"),
    Case("sums and products", False, "@f(x: float, y: float) -> float:\n  %1 : float = multiply(x, y)\n  %2 : float = add(%1, y)\n  %3 : float = multiply(%2, x)\n  return %3\n", ((1.5, -2.0),)),
    Case("sums and products", False, "@f(x: float) -> float:\n  %1 : float = sin(x)\n  %2 : float = subtract(%1, %1)\n  %3 : float = add(%2, x)\n  return %3\n", ((float("inf"),), (1.0,))),
    Case("sums and products", False, "@f(x: float, y: float, z: float) -> float:\n  %1 : float = multiply(x, y)\n  %2 : float = subtract(%1, %1)\n  %3 : float = sin(z)\n"
         "  %4 : float = subtract(%3, %3)\n  %5 : float = add(%2, %4)\n  return %5\n", ((1.5, -2.0, 0.5), (float("inf"), 1.0, 1.0))),
    Case("common subexpressions", True, "@f(x: float) -> float:\n  %1 : float = sin(x)\n  %2 : float = sin(x)\n  %3 : float = add(%1, %2)\n  return %3\n", REALS),
    Case("common subexpressions", False, "@f(x: float) -> float:\n  %1 : float = subtract(x, 1.0)\n  %2 : float = subtract(1.0, x)\n  %3 : float = add(%1, %2)\n  return %3\n", REALS),
    Case("common subexpressions", True, "@f(x: float) -> float:\n  %1 : float = math_sqrt(x)\n  %2 : float = sqrt(x)\n  %3 : float = add(%1, %2)\n  return %3\n", ((2.25,),),
         "@f(x: float) -> float:\n  %1 : float = math_sqrt(x)\n  %2 : float = add(%1, %1)\n  return %2"),
    Case("common subexpressions", False, "@f(x: float) -> float:\n  %1 : float = sqrt(x)\n  %2 : float = math_sqrt(x)\n  %3 : float = add(%1, %2)\n  return %3\n", ((2.25,),)),
    Case("dead parameters", True, "@f(n: int, x: float) -> float:\n  %1 : float = @g(n, x)\n  return %1\n\n@g(n: int, x: float) -> float:\n  %1 : float = sin(x)\n  return %1\n", ((1, 2.0),)),
    Case("dead parameters", False, "@f(n: int, x: float) -> float:\n  %1 : float = sin(x)\n  return %1\n", ((1, 2.0),)),
    Case("dead results", True, "@f(x: float) -> float:\n  t : (float, float) = @g(x)\n  %1 : float = tuple_getitem(t, 1)\n  return %1\n\n"
         "@g(x: float) -> (float, float):\n  %1 : float = sin(x)\n  %2 : float = cos(x)\n  %3 : (float, float) = make_tuple(%1, %2)\n  return %3\n", REALS),
    Case("dead results", False, "@f(x: float) -> (float, float):\n  t : (float, float) = @g(x)\n  return t\n\n"
         "@g(x: float) -> (float, float):\n  %1 : float = sin(x)\n  %2 : float = cos(x)\n  %3 : (float, float) = make_tuple(%1, %2)\n  return %3\n", REALS),
    Case("tuples in results", True, "@f(x: float) -> float:\n  t : (float, (float, int)) = @g(x)\n  %1 : (float, int) = tuple_getitem(t, 1)\n  %2 : float = tuple_getitem(%1, 0)\n  return %2\n\n"
         "@g(x: float) -> (float, (float, int)):\n  %1 : float = sin(x)\n  %2 : (float, int) = make_tuple(%1, 1)\n  %3 : (float, (float, int)) = make_tuple(x, %2)\n  return %3\n", REALS),
    Case("tuples in parameters", True, "@f(x: float) -> float:\n  t : (float, int) = make_tuple(x, 2)\n  %1 : float = @g(t)\n  return %1\n\n"
         "@g(t: (float, int)) -> float:\n  %1 : float = tuple_getitem(t, 0)\n  %2 : float = sin(%1)\n  return %2\n", REALS),
    Case("tuples in parameters", False, "@f(t: (float, int)) -> float:\n  %1 : float = tuple_getitem(t, 0)\n  return %1\n", (((1.5, 2),),)),
    Case("dead members", True, "@f(a: float) -> float:\n  p : fn<@g | @h> = partial(@g, a)\n  %1 : bool = closure_is(p, #h)\n  %2 : float = p(a)\n  %3 : float = where(%1, %2, a)\n  return %3\n"
         + _CLOSURES.split("\n\n")[0] + "\n\n" + _CLOSURES.split("\n\n")[1], REALS),
    Case("dead members", False, "@f(c: bool, a: float) -> float:\n  p : fn<@g | @h> = partial(@g, a)\n  q : fn<@g | @h> = partial(@h, a)\n"
         "  r : fn<@g | @h> = switch(c, p, q)\n  %1 : float = r(a)\n  return %1\n" + _CLOSURES, PAIRS),
    Case("functions as data", True, "@f(c: bool, a: float) -> float:\n  p : fn<@g | @h> = partial(@g, a)\n  q : fn<@g | @h> = partial(@h, a)\n"
         "  r : fn<@g | @h> = switch(c, p, q)\n  %1 : float = r(a)\n  return %1\n" + _CLOSURES, PAIRS),
    Case("functions as data", False, "@f(a: float, p: fn<@g | @h>) -> float:\n  %1 : float = p(a)\n  return %1\n" + _CLOSURES, ()),
)
