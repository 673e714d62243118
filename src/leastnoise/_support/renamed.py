"""Old names: each is refused by an error that says the new one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def refuse_names(module: str, names: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """A module's `__getattr__`: old names are refused by an error that says the new one."""

    def refuse(name: str) -> NoReturn:
        if name in names:
            raise AttributeError(f"{module}.{name} is now {names[name]}.")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse


class RenamedAttribute:
    """An attribute or a method of before: reading it raises an error that says the new name."""

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__}.{self.name} is now {self.new}.")


def renamed_arguments(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Refuse keyword arguments of before: `@renamed_arguments(noise="mechanism")`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            for old, new in names.items():
                if old in options:
                    raise TypeError(_renamed(function, old, new))
            return function(*args, **options)

        return checked

    return decorate


def _renamed(function: Callable[..., Any], old: str, new: str) -> str:
    return f"{function.__name__}() has no argument {old}= any more: it is now {new}=."
