"""Arrays of any library, brought into this machine's memory."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_host(array: Any) -> Any:
    """The array as NumPy's, without what its library remembers of its making; what is no array stays as it is."""
    if isinstance(array, (np.ndarray, np.generic)):
        return array
    import array_api_compat

    if not array_api_compat.is_array_api_obj(array):
        return array
    if array_api_compat.is_cupy_array(array):
        return array.get()
    detached = array.detach() if hasattr(array, "detach") else array
    return np.asarray(array_api_compat.to_device(detached, "cpu") if hasattr(detached, "detach") else detached)
