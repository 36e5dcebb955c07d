"""Optimization inside of what is optimized: the saddle point and the particle of Pearlmutter and Siskind 2008 (W5)."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def magnitude(v: Any) -> Any:
    return np.sqrt(np.sum(v * v))


def minimum(f: Callable[[Any], Any], x: Any) -> Any:
    """Gradient descent with a step that grows after ten good steps and shrinks after a bad one."""
    value, slope = f(x), grad(f)(x)
    step, good = 1e-5, 0
    while magnitude(slope) > 1e-5:
        if good == 10:
            step, good = step * 2, 0
            continue
        new = x - step * slope
        if magnitude(x - new) <= 1e-5:
            return x
        new_value = f(new)
        if new_value < value:
            x, value, slope, good = new, new_value, grad(f)(new), good + 1
        else:
            step, good = step / 2, 0
    return x


def hill(p: Any, q: Any) -> Any:
    return np.sum(p * p) - np.sum(q * q)


def saddle(start: Any) -> Any:
    def highest(p: Any) -> Any:
        return hill(p, minimum(lambda q: -hill(p, q), start))

    p = minimum(highest, start)
    return p, minimum(lambda q: -hill(p, q), start)


def pull(x: Any, w: Any) -> Any:
    """The potential of two charges, at (10, 10 − w) and (10, 0)."""
    first, second = x - np.array([10.0, 10.0]) + w * np.array([0.0, 1.0]), x - np.array([10.0, 0.0])
    return 1 / magnitude(first) + 1 / magnitude(second)


def landing(w: Any) -> Any:
    """The square of where a particle crosses the axis, by Euler's method."""
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    ahead = x + 0.1 * v
    while ahead[1] > 0:
        v = v - 0.1 * grad(pull)(x, w)
        x = ahead
        ahead = x + 0.1 * v
    end = x - (x[1] / v[1]) * v
    return end[0] ** 2


def particle(w: float) -> Any:
    return minimum(landing, w)


def by_hand() -> Any:
    """Values and tangents carried together."""
    import numba

    @numba.njit
    def inner(a: float, b: float, dq: Any) -> Any:
        x, y, step, good = a, b, 1e-5, 0
        dq[:] = 0.0
        value, sx, sy = x * x + y * y, 2 * x, 2 * y
        while math.sqrt(sx * sx + sy * sy) > 1e-5:
            if good == 10:
                step, good = step * 2, 0
                continue
            nx, ny = x - step * sx, y - step * sy
            if math.sqrt((x - nx) ** 2 + (y - ny) ** 2) <= 1e-5:
                break
            new = nx * nx + ny * ny
            if new < value:
                dq -= step * 2 * dq
                x, y, value, good = nx, ny, new, good + 1
                sx, sy = 2 * x, 2 * y
            else:
                step, good = step / 2, 0
        return x, y

    @numba.njit
    def outer(p0: float, p1: float, a: float, b: float, dq: Any, slope: Any) -> float:
        x, y = inner(a, b, dq)
        slope[0] = 2 * p0 - 2 * x * dq[0, 0] - 2 * y * dq[1, 0]
        slope[1] = 2 * p1 - 2 * x * dq[0, 1] - 2 * y * dq[1, 1]
        return p0 * p0 + p1 * p1 - x * x - y * y

    @numba.njit
    def saddle_(start: Any) -> Any:
        dq, slope, new_slope = np.zeros((2, 2)), np.zeros(2), np.zeros(2)
        a, b = start[0], start[1]
        x, y, step, good = a, b, 1e-5, 0
        value = outer(x, y, a, b, dq, slope)
        while math.sqrt(slope[0] ** 2 + slope[1] ** 2) > 1e-5:
            if good == 10:
                step, good = step * 2, 0
                continue
            nx, ny = x - step * slope[0], y - step * slope[1]
            if math.sqrt((x - nx) ** 2 + (y - ny) ** 2) <= 1e-5:
                break
            new = outer(nx, ny, a, b, dq, new_slope)
            if new < value:
                x, y, value, good = nx, ny, new, good + 1
                slope[:] = new_slope
            else:
                step, good = step / 2, 0
        u, v = inner(a, b, dq)
        return np.array([x, y]), np.array([u, v])

    @numba.njit
    def landing_(w: float) -> Any:
        x, y, u, v, dx, dy, du, dv = 0.0, 8.0, 0.75, 0.0, 0.0, 0.0, 0.0, 0.0
        while y + 0.1 * v > 0:
            fx = fy = dfx = dfy = 0.0
            for k in range(2):
                rx, ry, e = x - 10.0, y - (10.0 - w if k == 0 else 0.0), dy + (1.0 if k == 0 else 0.0)
                q = rx * rx + ry * ry
                cube = 1 / (q * math.sqrt(q))
                s = -3 * (rx * dx + ry * e) * cube / q
                fx, fy, dfx, dfy = fx + rx * cube, fy + ry * cube, dfx + dx * cube + rx * s, dfy + e * cube + ry * s
            x, y, dx, dy = x + 0.1 * u, y + 0.1 * v, dx + 0.1 * du, dy + 0.1 * dv
            u, v, du, dv = u + 0.1 * fx, v + 0.1 * fy, du + 0.1 * dfx, dv + 0.1 * dfy
        t = -y / v
        dt = -dy / v + y * dv / (v * v)
        end, d_end = x + t * u, dx + dt * u + t * du
        return end * end, 2 * end * d_end

    @numba.njit
    def particle_(w: float) -> float:
        value, slope = landing_(w)
        step, good = 1e-5, 0
        while abs(slope) > 1e-5:
            if good == 10:
                step, good = step * 2, 0
                continue
            new = w - step * slope
            if abs(w - new) <= 1e-5:
                return w
            new_value, new_slope = landing_(new)
            if new_value < value:
                w, value, slope, good = new, new_value, new_slope, good + 1
            else:
                step, good = step / 2, 0
        return w

    return saddle_, particle_


def jax_descent(f: Any, x: Any, slope_of: Any) -> Any:
    """`minimum` as a while_loop: reverse mode cannot pass it, so `slope_of` is forward mode outside."""
    from jax import lax
    from jax import numpy as jnp

    def size(v: Any) -> Any:
        return jnp.sqrt(jnp.sum(v * v))

    def move(s: Any) -> Any:
        x, value, slope, step, good, _ = s
        new = x - step * slope
        new_value = f(new)
        better = new_value < value
        new_slope = slope_of(f)(new)
        return (jnp.where(better, new, x), jnp.where(better, new_value, value), jnp.where(better, new_slope, slope), jnp.where(better, step, step / 2),
                jnp.where(better, good + 1, 0), size(x - new) <= 1e-5)

    def body(s: Any) -> Any:
        x, value, slope, step, good, done = s
        return lax.cond(good == 10, lambda _: (x, value, slope, step * 2, 0, done), lambda _: move(s), None)

    return lax.while_loop(lambda s: ~s[5] & (size(s[2]) > 1e-5), body, (x, f(x), slope_of(f)(x), jnp.asarray(1e-5), 0, False))[0]


def jax_saddle(start: Any) -> Any:
    import jax
    from jax import numpy as jnp
    h = lambda p, q: jnp.sum(p * p) - jnp.sum(q * q)

    def run(start: Any) -> Any:
        p = jax_descent(lambda p: h(p, jax_descent(lambda q: -h(p, q), start, jax.jacfwd)), start, jax.jacfwd)
        return p, jax_descent(lambda q: -h(p, q), start, jax.jacfwd)

    g, a = jax.jit(run), jnp.asarray(start)
    return lambda: jax.block_until_ready(g(a))


def cases() -> Iterator[Case]:
    saddle_, particle_ = by_hand()
    start = np.array([1.0, 1.0])
    yield Case("saddle point (nested gradients)", myia(saddle), (start,), hand=saddle_, expected=saddle_(start), target="2 hand, JAX", rtol=1.0, peers={"JAX": lambda: jax_saddle(start)})
    yield Case("particle (nested gradients)", myia(particle), (0.0,), hand=particle_, expected=0.20719187464861194, target="2 hand", rtol=1e-4)
