"""How a CSV is written: what separates its cells, and what its decimals. Declared, never guessed.

A guess would be made from people's rows, and one row could make another sign the likelier one.
"""

from __future__ import annotations

from dataclasses import dataclass

from leastnoise.errors import InvalidParameter

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
DECIMALS = (".", ",")


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """delimiter: None is a tab in .tsv and a comma in .csv. decimal: the sign before the digits of a fraction."""

    delimiter: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise InvalidParameter(
                'delimiter must be one of ",", ";", "|" and a tab, the sign between two cells of a row. Got '
                f"{self.delimiter!r} instead.",
                parameter="delimiter",
                value=self.delimiter,
                example={"delimiter": ";"},
            )
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise InvalidParameter(
                f'decimal must be "." or ",", as in 3.5 or 3,5. Got {self.decimal!r} instead.',
                parameter="decimal",
                value=self.decimal,
                example={"decimal": ","},
            )

    def separator(self, file: str) -> str:
        """What stands between the cells of a file."""
        return self.delimiter or ("\t" if ".tsv" in file.lower()[-7:] else ",")

    def check_is_csv(self, csv: bool) -> None:
        """Raise where something was declared that only a CSV has, and the table is none."""
        given = {"delimiter": self.delimiter, "decimal": self.decimal}
        for name, value in given.items():
            if value is not None and not csv:
                raise InvalidParameter(
                    f"{name} says how a CSV is written, and this table is none. Leave it out.",
                    parameter=name,
                    value=value,
                )


PLAIN = CsvLayout()
