"""Every parameter of every public function of these packages is in its docstring."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import leastnoise as ln

FUNCTIONS: dict[str, Callable[..., Any]] = (
    {name: getattr(ln, name) for name in ("sigma", "epsilon", "delta", "plan", "compare", "compose")}
    | {f"denoise.{name}": made for name, made in vars(ln.denoise).items() if name in ln.denoise.__all__[1:]}
    | {f"baselines.{name}": getattr(ln.baselines, name) for name in ln.baselines.__all__}
    | {f"domain.{name}": getattr(ln.domain, name) for name in ln.domain.__all__ if name != "Axis"}
    | {f"Graph.{name}": getattr(ln.Graph, name) for name in dir(ln.Graph) if inspect.ismethod(getattr(ln.Graph, name))}
    | {f"workload.{name}": getattr(ln.workload, name) for name in ln.workload.__all__ if name.islower()}
    | {f"Workload.{name}": getattr(ln.workload.Workload, name) for name in ("optimize", "table")}
    | {f"Strategy.{name}": getattr(ln.workload.Strategy, name) for name in ("covariance", "covariances", "at")}
    | {f"accounting.{name}": getattr(ln.accounting, name) for name in ln.accounting.__all__}
    | {"Graph.nearest": ln.Graph.nearest, "audit.lower_bound": ln.audit.lower_bound}
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_names_every_parameter(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    parameters = set(inspect.signature(FUNCTIONS[name]).parameters) - {"self", "cls"}
    assert not [each for each in parameters if not re.search(rf"\b{each}\b", text)]


MODULES = [ln, ln.denoise, ln.domain, ln.graphs, ln.workload, ln.baselines, ln.audit, ln.accounting]


@pytest.mark.parametrize("module", MODULES)
def test_a_listing_shows_what_is_public_and_nothing_that_was_imported(module: Any) -> None:
    assert sorted(dir(module)) == sorted(module.__all__)
    assert not {"annotations", "np", "math", "Callable", "validation", "Any"} & set(dir(module))
