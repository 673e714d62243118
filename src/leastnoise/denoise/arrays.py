"""What every denoiser is given: an array of numbers from any library, sigma, and the distribution of the noise.

sigma is one number, or where a denoiser knows what to do with it one for every bin (`sigmas_of`).

Arrays of PyTorch, JAX, CuPy or any other array-API library keep their library, dtype and device. Looking for NaN
would read a device array once more and stop until it is done, so only arrays in this machine's memory are searched.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import as_host
from leastnoise.graphs.graph import check_graph

Mechanism = Literal["gaussian", "laplace"]
Floats = NDArray[np.float64]
LEAST_SIGMA = 1e-60  # its fourth power is far from underflow
LARGE_ON_DEVICE = 1 << 28  # values, from where on the broadcast costs more than the wait for one number


def sigmas_of(sigma: Any, shape: tuple[int, ...], *, broadcast: bool = False) -> float | Floats:
    """sigma as a double; or doubles of this shape, where an array of different ones was given.

    broadcast: whether NumPy's rules may bring it to the shape.
    """
    if not array_api_compat.is_array_api_obj(sigma) and not isinstance(sigma, (list, tuple)):
        return float(_not_tiny(validation.number("sigma", sigma)))
    level = _not_tiny(validation.numbers("sigma", as_host(sigma)))
    try:
        fits = broadcast or level.shape in ((), shape)
        full = np.broadcast_to(level, shape) if fits else None
    except ValueError:
        full = None
    if full is None:
        raise errors.InvalidParameter(
            f"sigma must be a number or one for each of the values, whose shape is {shape}. Got the shape "
            f"{level.shape} instead.",
            parameter="sigma",
        )
    return float(level.flat[0]) if (level == level.flat[0]).all() else np.array(full)


def _not_tiny(sigma: Any) -> Any:
    """Refuse noise whose fourth power underflows, and with it every estimate of an error."""
    if np.size(sigma) and float(np.min(sigma)) < LEAST_SIGMA:
        raise errors.OutOfRange(
            f"sigma = {float(np.min(sigma)):.3g} is too small for doubles: its squares underflow. Multiply y and sigma "
            "by 1e60, or use the values as they are.",
            parameter="sigma",
        )
    return sigma


def mean_square(sigma: float | Floats) -> float:
    """sigma^2; of an array, its mean."""
    return sigma**2 if isinstance(sigma, float) else float(np.mean(sigma**2))


def like(sigma: float | Floats, y: Any, xp: Any) -> Any:
    """sigma as an array of the library, type and device of y; a number as it is."""
    return sigma if isinstance(sigma, float) else xp.asarray(sigma, dtype=y.dtype, device=array_api_compat.device(y))


def one_sigma(sigma: Any) -> float:
    """A sigma that is one number."""
    if isinstance(sigma, np.ndarray) and sigma.size > 1:
        raise errors.WrongType(
            "This denoiser needs one sigma for all values, and was given different ones. james_stein, soft_threshold, "
            "hard_threshold and empirical_bayes take one for each value.",
            parameter="sigma",
        )
    return validation.number("sigma", sigma)


def of_library(y: Any) -> Any:
    """An array of its own library, of real floating numbers; of NumPy's what `on_host` makes of it."""
    if not array_api_compat.is_array_api_obj(y) or isinstance(y, (np.ndarray, np.generic)):
        return on_host(y)
    if not namespace(y).isdtype(y.dtype, "real floating"):
        raise errors.WrongType(f"y must hold real floating numbers. Got {y.dtype} instead: convert it first.")
    if math.prod(y.shape) == 0:
        raise errors.InvalidParameter(_EMPTY)
    return y


def check_nodes(graph: Any, values: int) -> None:
    """Refuse a graph that has not a node for each value."""
    if check_graph(graph).size != values:
        raise errors.InvalidParameter(
            f"the graph has {graph.size:,} nodes, and there are {values:,} values. Give one value for each node, in "
            "the order of the nodes."
        )


def host_number(figure: Any) -> float:
    """A number of any library as a float."""
    return float(as_host(figure))


def namespace(array: Any) -> Any:
    """The functions of the array's library."""
    return array_api_compat.array_namespace(array)


def as_array(y: Any) -> Any:
    """y where it is an array of any library, else what NumPy makes of it."""
    if array_api_compat.is_array_api_obj(y) and not isinstance(y, np.generic):
        return y
    try:
        return np.asarray(y)
    except (TypeError, ValueError, RuntimeError):
        raise errors.WrongType(_NOT_HERE) from None


def on_host(y: Any) -> NDArray[Any]:
    """A finite, non-empty NumPy array: floats as they are, integers as doubles. What comes of it has no gradient."""
    if getattr(y, "requires_grad", False):
        raise errors.WrongType("y asks for its gradient, and what is fitted to all values has none. Detach it first.")
    try:
        array = np.asarray(as_host(y))
    except (TypeError, ValueError, RuntimeError):
        raise errors.WrongType(_NOT_HERE) from None
    if array.dtype.kind not in "iuf":
        raise errors.WrongType(f"y must be an array of numbers. Got an array of {array.dtype} instead.")
    if array.size == 0:
        raise errors.InvalidParameter(_EMPTY)
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise errors.InvalidParameter(NOT_FINITE)
    return array


def device_of(array: Any) -> Any:
    """Where it lives."""
    return array_api_compat.device(array)


def companion(name: str, value: Any, y: Any, xp: Any) -> Any:
    """A public number, or an array of one number for each of y's last axis, to be combined with y."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise errors.InvalidParameter(f"{name} must be finite. Got {value} instead.")
        return float(value)
    array = value
    if array_api_compat.is_numpy_namespace(xp) or not array_api_compat.is_array_api_obj(value):
        array = like(on_host(value).astype(np.float64), y, xp)
    elif isinstance(value, np.ndarray):
        array = like(on_host(value), y, xp)
    if getattr(array, "shape", None) != tuple(y.shape[-1:]):
        raise errors.InvalidParameter(f"{name} must be a number, or one for each of the {y.shape[-1]:,} values.")
    return array


def not_negative(name: str, value: Any) -> float:
    """A number from zero on."""
    return 0.0 if validation.is_zero(value) else validation.number(name, value)


def penalty_of(value: Any) -> float:
    """A penalty from zero to infinity."""
    return math.inf if isinstance(value, float) and value == math.inf else not_negative("penalty", value)


def penalty_or_word(value: Any) -> float | None:
    """The same, or None for "sure"."""
    if not isinstance(value, str):
        return penalty_of(value)
    validation.word("penalty", value, ("sure",))
    return None


def squares(x: Any, xp: Any) -> Any:
    """sum x_i^2 over all as a number of the array's library, on its device, in one pass."""
    flat = xp.reshape(x, (-1,))
    return xp.matmul(flat, flat)


def as_number_if_large(factor: Any, y: Any) -> Any:
    """A factor of one number as a float, where y is a vector on a GPU so large that this is worth the wait for it.

    A number on the device is broadcast, which halves the speed of a product (1.46 of a copy, against 1.01 for a float
    on an H200). Below `LARGE_ON_DEVICE` values the wait costs more, and a gradient needs the factor as it is.
    """
    on_gpu = array_api_compat.is_cupy_array(y) or (getattr(y, "is_cuda", False) and not y.requires_grad)
    one = on_gpu and factor.shape == () and math.prod(y.shape) >= LARGE_ON_DEVICE
    return factor.item() if one else factor


_NOT_HERE = (
    "y must be a rectangular array of numbers in this machine's memory. Copy it here first (y.detach().cpu().numpy())."
)
NOT_FINITE = "y holds NaN or infinity, which no noise of finite sigma makes. Drop those entries."
_EMPTY = "y is empty, so there is nothing to denoise."
