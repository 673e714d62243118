"""Every parameter of every public function of these packages is in its docstring."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import leastnoise as ln

FUNCTIONS: dict[str, Callable[..., Any]] = (
    {name: getattr(ln, name) for name in ("sigma", "epsilon", "delta", "plan", "compare", "compose")}
    | {f"denoise.{name}": made for name, made in vars(ln.denoise).items() if name in ln.denoise.__all__[1:]}
    | {f"baselines.{name}": getattr(ln.baselines, name) for name in ln.baselines.__all__}
    | {f"domain.{name}": getattr(ln.domain, name) for name in ln.domain.__all__ if name != "Axis"}
    | {f"Graph.{name}": getattr(ln.Graph, name) for name in dir(ln.Graph) if inspect.ismethod(getattr(ln.Graph, name))}
    | {f"workload.{name}": getattr(ln.workload, name) for name in ln.workload.__all__ if name.islower()}
    | {f"Workload.{name}": getattr(ln.workload.Workload, name) for name in ("optimize", "table")}
    | {f"Strategy.{name}": getattr(ln.workload.Strategy, name) for name in ("covariances", "at")}
    | {f"accounting.{name}": getattr(ln.accounting, name) for name in ln.accounting.__all__}
    | {"Graph.nearest": ln.Graph.nearest, "audit.lower_bound": ln.audit.lower_bound}
)


def unnamed(function: Callable[..., Any]) -> list[str]:
    """The parameters that are not in the docstring."""
    text = inspect.getdoc(function) or ""
    parameters = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return [name for name in parameters if not re.search(rf"\b{name}\b", text)]


def test_docstrings_name_every_parameter() -> None:
    wrong = [f"{name}: {parameter}" for name, function in FUNCTIONS.items() for parameter in unnamed(function)]
    assert not wrong, "\n".join(wrong)


MODULES = [ln, ln.denoise, ln.domain, ln.graphs, ln.workload, ln.baselines, ln.audit, ln.accounting]


IMPORTED = {"annotations", "np", "math", "Callable", "validation", "Any"}


def unexpected(module: Any) -> set[str]:
    """What a listing has and is not public, or lacks and is."""
    shown = set(dir(module))
    return (shown ^ set(module.__all__)) | (shown & IMPORTED)


def test_a_listing_shows_what_is_public_and_nothing_that_was_imported() -> None:
    wrong = [f"{module.__name__}: {', '.join(sorted(names))}" for module in MODULES if (names := unexpected(module))]
    assert not wrong, "\n".join(wrong)
