"""Options that hold several values, as they are typed: 0,100 or hour=int."""

from __future__ import annotations

from leastnoise import errors


def ends(name: str, text: str) -> tuple[float, float]:
    """0,100 as two numbers."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise errors.InvalidParameter(
            f"--{name.replace('_', '-')} takes two numbers with a comma. Got {text!r} instead.",
            parameter=name,
            value=text,
            example={name: (0, 100)},
        ) from None
    return low, high


def numbers(name: str, text: str | None) -> list[float] | None:
    """0.1,0.5,0.9 as numbers."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise errors.InvalidParameter(
            f"--{name.replace('_', '-')} takes numbers with commas. Got {text!r} instead.",
            parameter=name,
            value=text,
            example={name: [0.1, 0.5, 0.9]},
        ) from None


def types(pairs: list[str]) -> dict[str, str] | None:
    """--types hour=int --types fare=float, or with commas."""
    words = [word.rpartition("=") for pair in pairs for word in pair.split(",")]
    if any(not column or not kind for column, _, kind in words):
        raise errors.InvalidParameter(
            f"--types takes COLUMN=TYPE. Got {','.join(pairs)!r} instead.",
            parameter="types",
            value=pairs,
            example={"types": {"hour": "int"}},
        )
    return {column: kind for column, _, kind in words} or None


def settings(pairs: list[str]) -> dict[str, str] | None:
    """--config NAME=VALUE, once for each: a value may have commas."""
    words = [pair.partition("=") for pair in pairs]
    if any(not name or not equals for name, equals, _ in words):
        raise errors.InvalidParameter(
            "--config takes NAME=VALUE, once for each setting of Spark.",
            parameter="config",
            value=pairs,
            example={"config": {"spark.executor.memory": "4g"}},
        )
    return {name: value for name, _, value in words} or None
