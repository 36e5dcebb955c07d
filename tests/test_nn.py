"""Networks against PyTorch 2.13 (its values were recorded on 2026-12-01; it is no dependency): sums, first elements, and gradients of a weighted
sum of tanh of the result with respect to every argument, as two projections each."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from myia_notebook import grad, myia, nn

RECORDED = {
    'conv2d': dict(
        sum=[51.271866286673514],
        first=[1.7027826753605995],
        loss=-0.657615912799614,
        grads=[[-7.885233831276992, -3.816687090736731], [0.2577167007027281, 8.442640536987005], [-4.51165520252593, 0.5278281902456581]],
    ),
    'conv2d_plain': dict(
        sum=[-15.204703451273893],
        first=[-1.2652926868372687],
        loss=1.6354303462277984,
        grads=[[0.1832374588140434, -10.78955149255086], [16.284654333572774, -2.2352736747995374]],
    ),
    'conv_transpose2d': dict(
        sum=[26.802593087134582],
        first=[-0.34405032576084926],
        loss=-0.9380812429769061,
        grads=[[-9.726655509699729, -1.6162477852329418], [0.09479794623393145, 5.647603675341065], [-3.1950578141536097, -2.792616575417514]],
    ),
    'max_pool2d': dict(
        sum=[36.11614352067284],
        first=[0.9916648104524686],
        loss=1.1097323431113635,
        grads=[[0.9485280585977403, -1.1637262097613699]],
    ),
    'avg_pool2d': dict(
        sum=[0.1567857168581595],
        first=[0.44852103144238514],
        loss=0.9237573161048562,
        grads=[[-0.4920799495246275, -0.05291133329132705]],
    ),
    'layer_norm': dict(
        sum=[12.622592065136317],
        first=[-0.03663722424154882],
        loss=-0.01874369149906674,
        grads=[[-2.7755575615628914e-17, 1.199319377771325], [-4.432228079610656, -1.8773684242429658], [1.6462853091237846, 2.369102676598395]],
    ),
    'cross_entropy': dict(
        sum=[1.1989781946827194],
        first=[1.1989781946827194],
        loss=0.8333426703488632,
        grads=[[0.0, 0.02621303252099689]],
    ),
    'mse': dict(
        sum=[1.1645000649857629],
        first=[1.1645000649857629],
        loss=0.822501014959698,
        grads=[[0.024595905247622944, 0.3136943237012926], [-0.024595905247622944, -0.3136943237012926]],
    ),
    'softmax': dict(
        sum=[4.0],
        first=[0.43710955276826197],
        loss=-0.5817086603001015,
        grads=[[2.0816681711721685e-17, 0.5682509011798917]],
    ),
    'log_softmax': dict(
        sum=[-17.616568935275918],
        first=[-1.8236543635754552],
        loss=0.034364908773448416,
        grads=[[-4.163336342344337e-17, 0.09910283041771638]],
    ),
    'softplus': dict(
        sum=[15.137334647314765],
        first=[1.6831380465195354],
        loss=-0.34534917011392186,
        grads=[[-0.07984268503747144, 0.17146314807659394]],
    ),
    'gelu': dict(
        sum=[5.059487069250157],
        first=[0.4271451720781083],
        loss=-0.44692822454209885,
        grads=[[0.011867088413500981, 1.074480212384888]],
    ),
    'embedding': dict(
        sum=[4.490364136770475],
        first=[0.6754631805511513],
        loss=0.44720615932866403,
        grads=[[-0.45838954338969917, -0.9027304586663322]],
    ),
    'lstm_cell': dict(
        sum=[2.1420471882488306, 3.7395489823337265],
        first=[0.5733920616632138, 0.987496623349681],
        loss=0.5355013986137014,
        grads=[[-0.7842690412614923, -0.3245989000095379], [0.23981345689651443, 0.2190543021936485], [0.005982809096337693, 0.28052943655567053], [1.0521178789547418, -0.3108595338033042], [-0.14805646520492163, -0.296559493423973], [0.23025591813833818, -0.15416305628933985], [0.23025591813833818, -0.15416305628933985]],
    ),
    'linear': dict(
        sum=[5.123272189138857],
        first=[2.6860505544806035],
        loss=-0.20704327824685687,
        grads=[[-0.5435535190780083, 0.0028770187249536894], [2.0937755040742356, -1.7300726653526075], [0.6438480355981957, 0.5589486783190692]],
    ),
}


def fill(*shape: int, k: float = 1.0) -> Any:
    return np.sin(np.arange(int(np.prod(shape))) * 0.7 * k + 0.3 * k).reshape(shape)


LABELS, WORDS = np.array([2, 0, 1]), np.array([[1, 0], [3, 1]])
CASES: dict[str, Any] = {
    "conv2d": (lambda x, w, b: nn.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
               (fill(2, 4, 5, 6), fill(6, 2, 3, 2, k=1.3), fill(6, k=2.0))),
    "conv2d_plain": (lambda x, w: nn.conv2d(x, w), (fill(1, 2, 5, 5), fill(3, 2, 3, 3, k=0.9))),
    "conv_transpose2d": (lambda x, w, b: nn.conv_transpose2d(x, w, b, stride=2, padding=1), (fill(2, 3, 4, 3), fill(3, 2, 3, 3, k=1.1), fill(2, k=0.4))),
    "max_pool2d": (lambda x: nn.max_pool2d(x, 2, stride=1), (fill(2, 3, 4, 5, k=1.7),)),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x, (2, 3)), (fill(2, 3, 4, 6, k=1.7),)),
    "layer_norm": (lambda x, g, b: nn.layer_norm(x, g, b), (fill(3, 5), fill(5, k=1.2), fill(5, k=0.8))),
    "cross_entropy": (lambda x: nn.cross_entropy(x, LABELS), (fill(3, 4),)),
    "mse": (lambda a, b: nn.mse(a, b), (fill(3, 4), fill(3, 4, k=0.6))),
    "softmax": (lambda x: nn.softmax(x, 0), (fill(3, 4),)),
    "log_softmax": (lambda x: nn.log_softmax(x), (fill(3, 4),)),
    "softplus": (lambda x: nn.softplus(x), (fill(7) * 5,)),
    "gelu": (lambda x: nn.gelu(x), (fill(7) * 2,)),
    "embedding": (lambda t: nn.embedding(t, WORDS), (fill(4, 3),)),
    "lstm_cell": (lambda x, h, c, wi, wh, bi, bh: nn.lstm_cell(x, (h, c), wi, wh, bi, bh),
                  (fill(2, 3), fill(2, 2, k=0.5), fill(2, 2, k=1.5), fill(8, 3, k=0.9), fill(8, 2, k=1.1), fill(8, k=0.3), fill(8, k=0.2))),
    "linear": (lambda x, w, b: nn.linear(x, w, b), (fill(3, 4), fill(2, 4, k=0.8), fill(2, k=1.4))),
}


def loss_of(f: Any) -> Any:
    def loss(*args):  # type: ignore[no-untyped-def]
        y = f(*args)
        total = 0.0
        for v in y if isinstance(y, tuple) else (y,):
            total = total + np.sum(np.tanh(v) * np.reshape(np.cos(np.arange(np.size(v)) * 1.0), np.shape(v)))
        return total
    return loss


def test_every_recorded_case_is_tried() -> None:
    assert CASES.keys() == RECORDED.keys()


@pytest.mark.parametrize("backend", ("vm", "numba"))
@pytest.mark.parametrize("name", CASES)
def test_network(name: str, backend: str) -> None:
    f, args = CASES[name]
    recorded: dict[str, Any] = RECORDED[name]
    y = myia(f, backend=backend)(*args)
    parts = y if isinstance(y, tuple) else (y,)
    np.testing.assert_allclose([np.sum(v) for v in parts], recorded["sum"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([np.reshape(v, -1)[0] for v in parts], recorded["first"], rtol=1e-9)
    assert np.isclose(myia(loss_of(f), backend=backend)(*args), recorded["loss"], rtol=1e-9)
    gradients = grad(loss_of(f), "*", backend=backend)(*args)
    for g, (total, projected) in zip(gradients, recorded["grads"]):
        weights = np.cos(np.arange(g.size) * 0.5).reshape(g.shape)
        np.testing.assert_allclose([g.sum(), (g * weights).sum()], [total, projected], rtol=1e-8, atol=1e-10)


def test_networks_are_plain_python_too() -> None:
    for f, args in CASES.values():
        for a, b in zip(np.atleast_1d(f(*args)), np.atleast_1d(myia(f, backend="vm")(*args))):
            np.testing.assert_allclose(a, b, rtol=1e-10)


def test_second_derivative_of_a_convolution() -> None:
    """The original had none."""
    x, w = fill(1, 1, 4, 4), fill(1, 1, 2, 2, k=1.3)

    def energy(w):  # type: ignore[no-untyped-def]
        return np.sum(nn.conv2d(x, w) ** 3)

    def slope(w):  # type: ignore[no-untyped-def]
        return np.sum(grad(energy)(w) * np.ones((1, 1, 2, 2)))

    h = 1e-5
    found = grad(slope)(w)
    for place in np.ndindex(*w.shape):
        step = np.zeros_like(w)
        step[place] = h
        expected = (np.sum(grad(energy)(w + step)) - np.sum(grad(energy)(w - step))) / (2 * h)
        assert np.isclose(found[place], expected, rtol=1e-6)
