"""The clips that a look proposes, by column: none where noise hides how large a column's values are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from leastnoise import errors
from leastnoise._support.immutable import Frozen


class ProposedClips(Frozen):
    """A clip for each column that has one. To ask for another column's is refused with the reason."""

    hidden: tuple[str, ...]  # columns whose values noise hides

    def __init__(self, clips: Mapping[str, Any], hidden: tuple[str, ...] = ()) -> None:
        super().__init__(clips)
        self.hidden = hidden

    def __missing__(self, column: str) -> NoReturn:
        if column in self.hidden:
            raise errors.InvalidParameter(
                hidden_in_words([column]), parameter="clip", value=column, example={"clip": (0, 100)}
            )
        raise errors.UnknownColumn(
            f'the values of "{column}" were not counted by this look, so it has no clip for them. Name the column in '
            "values, for sums, or in means.",
            parameter="column",
            value=column,
        )

    def __reduce__(self) -> Any:
        return ProposedClips, (dict(self), self.hidden)


def hidden_in_words(columns: list[str]) -> str:
    """Why there is no clip for these."""
    return (
        f"Noise hides how large the values of {', '.join(columns)} are, to the order of magnitude, so no clip is "
        "proposed. Take ends that are known without a look, such as what a tariff or a law allows, or a larger share."
    )
