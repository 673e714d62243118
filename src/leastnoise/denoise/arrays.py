"""What every denoiser is given: an array of numbers from any library, sigma, and the distribution of the noise.

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
from leastnoise.graphs import Graph

Mechanism = Literal["gaussian", "laplace"]
Floats = NDArray[np.float64]


def given(y: Any, sigma: validation.Number, mechanism: Mechanism) -> tuple[Any, float, Any]:
    """The array (of its own library, or NumPy for lists), sigma as a double, and the library's namespace."""
    level = validation.number("sigma", sigma)
    validation.word("mechanism", mechanism, ("gaussian", "laplace"))
    if not array_api_compat.is_array_api_obj(y) or isinstance(y, (np.ndarray, np.generic)):
        array = on_host(y)
        return array, level, array_api_compat.array_namespace(array)
    xp = array_api_compat.array_namespace(y)
    if not xp.isdtype(y.dtype, "real floating"):
        raise errors.WrongType(f"y must hold real floating numbers. Got {y.dtype} instead: convert it first.")
    if math.prod(y.shape) == 0:
        raise errors.InvalidParameter(_EMPTY)
    return y, level, xp


def given_on_host(y: Any, sigma: validation.Number, mechanism: Mechanism) -> tuple[Floats, float]:
    """The same for the denoisers that work in this machine's memory."""
    level = validation.number("sigma", sigma)
    validation.word("mechanism", mechanism, ("gaussian", "laplace"))
    return on_host(y).astype(np.float64), level


def given_on_graph(y: Any, sigma: validation.Number, mechanism: Mechanism, graph: Graph) -> tuple[Floats, float]:
    """The values in their shape, and sigma, after checking that the graph has as many nodes.

    Values on a lattice may keep its shape; they are read as NumPy flattens them, which is how `Graph.grid` numbers.
    """
    array, level = given_on_host(y, sigma, mechanism)
    if not isinstance(graph, Graph):
        raise errors.WrongType(
            f"graph must be a leastnoise Graph. Got {type(graph).__name__} instead. Make one with "
            "Graph.path(n), Graph.grid(shape), Graph.from_edges, from_networkx or from_parquet."
        )
    if graph.size != array.size:
        raise errors.InvalidParameter(
            f"the graph has {graph.size:,} nodes, and there are {array.size:,} values. Give one value for each node, "
            "in the order of the nodes."
        )
    return array, level


def on_host(y: Any) -> NDArray[Any]:
    """A finite, non-empty NumPy array: floats as they are, integers as doubles."""
    try:
        array = np.asarray(y)
    except (TypeError, ValueError, RuntimeError):
        raise errors.WrongType(
            "y must be a rectangular array of numbers in this machine's memory. Copy it here first (y.cpu().numpy())."
        ) from None
    if array.dtype.kind not in "iuf":
        raise errors.WrongType(f"y must be an array of numbers. Got an array of {array.dtype} instead.")
    if array.size == 0:
        raise errors.InvalidParameter(_EMPTY)
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise errors.InvalidParameter(
            "y holds NaN or infinity, which no noise of finite sigma makes. Drop those entries."
        )
    return array


def companion(name: str, value: Any, y: Any, xp: Any) -> Any:
    """A public number, or an array of the shape of y, to be combined with y."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise errors.InvalidParameter(f"{name} must be finite. Got {value} instead.")
        return float(value)
    array = on_host(value).astype(y.dtype) if array_api_compat.is_numpy_namespace(xp) else value
    if getattr(array, "shape", None) != y.shape:
        raise errors.InvalidParameter(f"{name} must be a number or have the shape of y, {tuple(y.shape)}.")
    return array


def penalty_or_word(value: Any) -> float | None:
    """A penalty from zero to infinity, or None for "sure"."""
    if isinstance(value, str):
        validation.word("penalty", value, ("sure",))
        return None
    if validation.is_zero(value):
        return 0.0
    if isinstance(value, float) and value == math.inf:
        return math.inf
    return validation.number("penalty", value)


def squares(x: Any, xp: Any) -> Any:
    """sum x_i^2 as a number of the array's library, on its device, in one pass."""
    flat = xp.reshape(x, (-1,))
    return xp.matmul(flat, flat)


_EMPTY = "y is empty, so there is nothing to denoise."
