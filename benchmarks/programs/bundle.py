"""Bundle adjustment of ADBench: 1000 observations, for each the 2×15 Jacobian of its residual (W8)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import jacobian, myia

N = 1000


def residual(camera: Any, point: Any, weight: float, seen: Any) -> Any:
    """The weighted error of one projected point. A camera: rotation (axis times angle), center, focal length, principal point, two distortions."""
    rx, ry, rz = camera[0], camera[1], camera[2]
    x, y, z = point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]
    angle = math.sqrt(rx * rx + ry * ry + rz * rz)
    c, s = math.cos(angle), math.sin(angle)
    ax, ay, az = rx / angle, ry / angle, rz / angle
    along = (ax * x + ay * y + az * z) * (1 - c)
    u = x * c + (ay * z - az * y) * s + ax * along
    v = y * c + (az * x - ax * z) * s + ay * along
    w = z * c + (ax * y - ay * x) * s + az * along
    px, py = u / w, v / w
    square = px * px + py * py
    bent = (1 + camera[9] * square + camera[10] * square * square) * camera[6]
    return np.array([weight * (px * bent + camera[7] - seen[0]), weight * (py * bent + camera[8] - seen[1])])


def jacobians(cameras: Any, points: Any, weights: Any, features: Any) -> Any:
    """For each observation its row of derivatives: of the camera, of the point, of the weight."""
    def one(i: int) -> Any:
        of_camera, of_point, of_weight = jacobian(residual, (0, 1, 2))(cameras[i], points[i], weights[i], features[i])
        return np.concatenate([of_camera, of_point, np.reshape(of_weight, (2, 1))], axis=1)

    n = len(weights)
    rows = np.zeros((n, 2, 15))
    for i in range(n):
        rows[i] = one(i)
    return rows


def by_hand() -> Any:
    import numba

    @numba.njit
    def all_rows(cam: Any, points: Any, weights: Any, seen: Any) -> Any:
        out = np.empty((cam.shape[0], 2, 15))
        for n in range(cam.shape[0]):
            r0, r1, r2 = cam[n, 0], cam[n, 1], cam[n, 2]
            x, y, z = points[n, 0] - cam[n, 3], points[n, 1] - cam[n, 4], points[n, 2] - cam[n, 5]
            th = math.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
            c, s, a0, a1, a2 = math.cos(th), math.sin(th), r0 / th, r1 / th, r2 / th
            k = 1 - c
            dot = a0 * x + a1 * y + a2 * z
            k0, k1, k2 = a1 * z - a2 * y, a2 * x - a0 * z, a0 * y - a1 * x
            u, v, w = x * c + k0 * s + a0 * dot * k, y * c + k1 * s + a1 * dot * k, z * c + k2 * s + a2 * dot * k
            p, q = u / w, v / w
            e = p * p + q * q
            ka, kb, f, g = cam[n, 9], cam[n, 10], cam[n, 6], weights[n]
            bend, slope = 1 + ka * e + kb * e * e, 2 * (ka + 2 * kb * e)
            t0, t1, t2 = c * k0 - s * x + a0 * dot * s, c * k1 - s * y + a1 * dot * s, c * k2 - s * z + a2 * dot * s
            for i in range(2):
                own = p if i == 0 else q
                dp = g * f * ((bend if i == 0 else 0.0) + own * slope * p)
                dq = g * f * ((bend if i == 1 else 0.0) + own * slope * q)
                du, dv = dp / w, dq / w
                dw = -(dp * p + dq * q) / w
                ad = a0 * du + a1 * dv + a2 * dw
                gx = du * c + (a2 * dv - a1 * dw) * s + a0 * ad * k
                gy = dv * c + (a0 * dw - a2 * du) * s + a1 * ad * k
                gz = dw * c + (a1 * du - a0 * dv) * s + a2 * ad * k
                dth = du * t0 + dv * t1 + dw * t2
                d0 = s * (y * dw - z * dv) + k * (dot * du + ad * x)
                d1 = s * (z * du - x * dw) + k * (dot * dv + ad * y)
                d2 = s * (x * dv - y * du) + k * (dot * dw + ad * z)
                m = a0 * d0 + a1 * d1 + a2 * d2
                row = out[n, i]
                row[0], row[1], row[2] = dth * a0 + (d0 - m * a0) / th, dth * a1 + (d1 - m * a1) / th, dth * a2 + (d2 - m * a2) / th
                row[3], row[4], row[5], row[11], row[12], row[13] = -gx, -gy, -gz, gx, gy, gz
                row[6], row[7], row[8] = g * own * bend, g if i == 0 else 0.0, g if i == 1 else 0.0
                row[9], row[10], row[14] = g * f * own * e, g * f * own * e * e, own * bend * f + cam[n, 7 + i] - seen[n, i]
        return out

    return all_rows


def jax_(given: tuple[Any, ...]) -> Any:
    import jax
    from jax import numpy as jnp

    def one(cam: Any, x: Any, w: Any, seen: Any) -> Any:
        rot, moved = cam[:3], x - cam[3:6]
        th = jnp.sqrt(rot @ rot)
        c, s, a = jnp.cos(th), jnp.sin(th), rot / th
        y = moved * c + jnp.cross(a, moved) * s + a * ((a @ moved) * (1 - c))
        p = y[:2] / y[2]
        e = p @ p
        return w * (p * (1 + cam[9] * e + cam[10] * e * e) * cam[6] + cam[7:9] - seen)

    g, values = jax.jit(jax.vmap(jax.jacrev(one, (0, 1, 2)))), tuple(jnp.asarray(a) for a in given)
    return lambda: jax.block_until_ready(g(*values))


def reference(cameras: Any, points: Any, weights: Any, features: Any) -> Any:
    """By complex-free differences of the primal function, two steps, extrapolated."""
    rows = np.zeros((len(weights), 2, 15))
    for i in range(len(weights)):
        z = np.concatenate([cameras[i], points[i], weights[i:i + 1]])
        f = lambda z: residual(z[:11], z[11:14], z[14], features[i])
        for j in range(15):
            e = np.zeros(15)
            e[j] = 1e-3
            rows[i, :, j] = (4 * (f(z + e / 2) - f(z - e / 2)) / 1e-3 - (f(z + e) - f(z - e)) / 2e-3) / 3
    return rows


def cases() -> Iterator[Case]:
    r = np.random.default_rng(0)
    cameras = np.concatenate([0.3 * r.normal(size=(N, 3)), 0.1 * r.normal(size=(N, 3)), 1 + 0.1 * r.random((N, 1)), 0.1 * r.normal(size=(N, 2)),
                              0.01 * r.normal(size=(N, 2))], 1)
    given = (cameras, np.concatenate([r.normal(size=(N, 2)), 5 + r.random((N, 1))], 1), 1 + 0.1 * r.random(N), r.normal(size=(N, 2)))
    yield Case("bundle adjustment, 1000 Jacobians of 2×15", myia(jacobians), given, hand=by_hand(), expected=reference(*given), target="0.2 JAX", rtol=1e-5,
               peers={"JAX": lambda: jax_(given)})
