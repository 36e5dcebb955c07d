"""Networks, written in the language: plain functions on NumPy arrays that may be called from a `%%myia` cell, differentiated to any order, or used
as they are. Shapes follow PyTorch: images are (batch, channels, height, width), weights of a convolution (out, in / groups, height, width).

    relu sigmoid softplus gelu           elementwise
    softmax log_softmax                  along an axis (the last one by default)
    cross_entropy mse                    losses, averaged
    layer_norm embedding linear lstm_cell
    conv2d conv_transpose2d max_pool2d avg_pool2d
"""
from __future__ import annotations

import numpy as np


def relu(x):  # type: ignore[no-untyped-def]
    """max(x, 0); the derivative at 0 is 0."""
    return np.where(x > 0, x, 0.0 * x)


def sigmoid(x):  # type: ignore[no-untyped-def]
    """1 / (1 + e^−x), finite with all its derivatives for every x."""
    return 0.5 * (np.tanh(0.5 * x) + 1.0)


def softplus(x):  # type: ignore[no-untyped-def]
    """log(1 + e^x)."""
    return np.where(x > 0, x + np.log1p(np.exp(-x)), np.log1p(np.exp(x)))


def gelu(x):  # type: ignore[no-untyped-def]
    """x Φ(x) in the tanh form. Hendrycks & Gimpel 2016."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def softmax(x, axis=-1):  # type: ignore[no-untyped-def]
    """e^x over its sum along an axis."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis=-1):  # type: ignore[no-untyped-def]
    """log softmax, without overflow."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def cross_entropy(logits, labels):  # type: ignore[no-untyped-def]
    """The mean of −log softmax(logits)[label]. logits: (batch, classes); labels: (batch,) ints."""
    chosen = np.take_along_axis(log_softmax(logits), np.expand_dims(labels, 1), axis=1)
    return -np.mean(chosen)


def mse(prediction, target):  # type: ignore[no-untyped-def]
    """The mean squared error."""
    d = prediction - target
    return np.mean(d * d)


def linear(x, weight, bias=0.0):  # type: ignore[no-untyped-def]
    """x Wᵀ + b. weight: (out, in)."""
    return x @ weight.T + bias


def layer_norm(x, gain, bias, eps=1e-5):  # type: ignore[no-untyped-def]
    """Mean 0 and variance 1 along the last axis, then scaled and shifted. Ba, Kiros & Hinton 2016."""
    centered = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centered * centered, axis=-1, keepdims=True)
    return centered / np.sqrt(variance + eps) * gain + bias


def embedding(table, indices):  # type: ignore[no-untyped-def]
    """Rows of a table. table: (count, width); indices: ints of any shape."""
    return np.take(table, indices, axis=0)


def lstm_cell(x, state, w_input, w_hidden, b_input, b_hidden):  # type: ignore[no-untyped-def]
    """(h, c) after one step; gates in PyTorch's order (input, forget, cell, output). Hochreiter & Schmidhuber 1997.

    x: (batch, in); state: (h, c), each (batch, n); w_input: (4n, in); w_hidden: (4n, n); biases: (4n,)."""
    h, c = state
    gates = x @ w_input.T + b_input + h @ w_hidden.T + b_hidden
    n = h.shape[1]
    i = sigmoid(gates[:, :n])
    f = sigmoid(gates[:, n:2 * n])
    g = np.tanh(gates[:, 2 * n:3 * n])
    o = sigmoid(gates[:, 3 * n:])
    new_c = f * c + i * g
    return o * np.tanh(new_c), new_c


def _pair(v):  # type: ignore[no-untyped-def]
    return v if isinstance(v, tuple) else (v, v)


def _windows(x, size, stride, dilation):  # type: ignore[no-untyped-def]
    """(batch, channels, out height, out width, kernel height, kernel width): the elements under each position of a kernel."""
    kh, kw = size
    sh, sw = stride
    dh, dw = dilation
    height = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1
    width = (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    rows = np.reshape(np.arange(height) * sh, (height, 1)) + np.arange(kh) * dh
    columns = np.reshape(np.arange(width) * sw, (width, 1)) + np.arange(kw) * dw
    taken = np.take(np.take(x, columns, axis=3), rows, axis=2)
    return np.transpose(taken, (0, 1, 2, 4, 3, 5))


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):  # type: ignore[no-untyped-def]
    """Cross-correlation. x: (N, C, H, W); weight: (O, C / groups, kh, kw); bias: (O,). stride, padding, dilation: an int or a pair."""
    ph, pw = _pair(padding)
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    out, inner, kh, kw = weight.shape
    w = _windows(padded, (kh, kw), _pair(stride), _pair(dilation))
    count, height, width = w.shape[0], w.shape[2], w.shape[3]
    grouped = np.reshape(w, (count, groups, inner, height, width, kh, kw))
    kernels = np.reshape(weight, (groups, out // groups, inner, kh, kw))
    y = np.reshape(np.einsum("ngchwij,gocij->ngohw", grouped, kernels), (count, out, height, width))
    return y if bias is None else y + np.reshape(bias, (1, out, 1, 1))


def conv_transpose2d(x, weight, bias=None, stride=1, padding=0):  # type: ignore[no-untyped-def]
    """The adjoint of `conv2d`. x: (N, C, H, W); weight: (C, O, kh, kw)."""
    sh, sw = _pair(stride)
    ph, pw = _pair(padding)
    count, channels, height, width = x.shape
    kh, kw = weight.shape[2], weight.shape[3]
    spaced = np.reshape(x, (count, channels, height, 1, width, 1))
    spaced = np.pad(spaced, ((0, 0), (0, 0), (0, 0), (0, sh - 1), (0, 0), (0, sw - 1)))
    spaced = np.reshape(spaced, (count, channels, height * sh, width * sw))
    spaced = spaced[:, :, :(height - 1) * sh + 1, :(width - 1) * sw + 1]
    flipped = np.flip(np.transpose(weight, (1, 0, 2, 3)), (2, 3))
    full = conv2d(np.pad(spaced, ((0, 0), (0, 0), (kh - 1, kh - 1), (kw - 1, kw - 1))), flipped)
    y = full[:, :, ph:full.shape[2] - ph, pw:full.shape[3] - pw]
    return y if bias is None else y + np.reshape(bias, (1, -1, 1, 1))


def max_pool2d(x, size, stride=None):  # type: ignore[no-untyped-def]
    """The largest element under each window; several that are equal share the gradient."""
    w = _windows(x, _pair(size), _pair(size if stride is None else stride), (1, 1))
    return np.max(w, axis=(4, 5))


def avg_pool2d(x, size, stride=None):  # type: ignore[no-untyped-def]
    """The mean under each window."""
    w = _windows(x, _pair(size), _pair(size if stride is None else stride), (1, 1))
    return np.mean(w, axis=(4, 5))


__all__ = ["avg_pool2d", "conv2d", "conv_transpose2d", "cross_entropy", "embedding", "gelu", "layer_norm", "linear", "log_softmax", "lstm_cell", "max_pool2d",
           "mse", "relu", "sigmoid", "softmax", "softplus"]
