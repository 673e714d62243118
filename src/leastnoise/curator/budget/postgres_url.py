"""The address of a budget on a server: postgresql://user@host/db?budget=city.

A password in it goes to the server and nowhere else: not into an error, a log, a file, a page or a `repr`. Better, it
is not in the address at all: ~/.pgpass, PGPASSWORD, a service file or a certificate are the server's own ways.
"""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from leastnoise import errors

SCHEMES = ("postgresql", "postgres")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_EXAMPLE = errors.Code('"postgresql://host/db?budget=city"', "leastnoise budget 'postgresql://host/db?budget=city'")


class Address:
    """Where a budget lies on a server. `str` and `repr` leave out the password, and so does pickle: it refuses."""

    __slots__ = ("_conninfo", "budget", "location")

    def __init__(self, conninfo: str, budget: str, location: str) -> None:
        self._conninfo = conninfo
        self.budget = budget
        self.location = location

    def conninfo(self) -> str:
        """For the driver alone: it may hold a password."""
        return self._conninfo

    def __repr__(self) -> str:
        return f"<Address {self.location}>"

    def __reduce__(self) -> str:
        raise TypeError("The address of a budget may hold a password, so it is not written to a file or sent away.")


def is_url(place: object) -> bool:
    """Whether this is meant as an address; one of another kind, or in a Path, is refused without being quoted."""
    text = os.fspath(place) if isinstance(place, (str, os.PathLike)) else ""
    text = os.fsdecode(text)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):/", text)
    if scheme is None and re.search(r"postgres(ql)?:/", text):  # after a blank or a quote, which came with it
        raise _wrong("This is no address that can be read: postgresql:// is not what it begins with.")
    if scheme is None or len(scheme[1]) == 1:
        return False
    if scheme[1] not in SCHEMES or not isinstance(place, str) or not text.startswith(f"{scheme[1]}://"):
        raise _wrong(
            "A budget is in a file, or in PostgreSQL at an address that begins with postgresql://, given as text."
        )
    return True


def parsed(url: str) -> Address:
    """The parts of the address, which is not quoted in any error."""
    try:
        split = urlsplit(url)
        port, user, host = split.port, split.username, split.hostname or ""
        options = parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query))
    except ValueError:
        raise _wrong("This is no address that can be read.") from None
    if set("/@") & set(split.path[1:]):  # a password with a / in it would be taken for the name of the database
        raise _wrong("This is no address that can be read: in a password, / and @ are written %2F and %40.")
    names = [value for name, value in options if name == "budget"]
    if len(names) != 1:
        raise _wrong(
            "The address does not say which budget is meant: it ends with a question mark, and budget as one name."
        )
    (name,) = names
    if not _NAME.fullmatch(name):
        raise _wrong("The name of a budget on a server is made of small letters, digits and _, at most 40 of them.")
    rest = [(option, value) for option, value in options if option != "budget"]
    conninfo = urlunsplit(split._replace(query=urlencode(rest, quote_via=quote), fragment=""))
    at = f"{quote(user, safe='')}@" if user else ""
    shown = f"[{host}]" if ":" in host else host
    place = f"{at}{shown}{'' if port is None else f':{port}'}{quote(split.path)}"
    return Address(conninfo, name, f"postgresql://{place}?budget={name}")


def _wrong(what: str) -> errors.InvalidParameter:
    return errors.InvalidParameter(
        f"{what} Nothing was debited and nothing released.", parameter="path", example=_EXAMPLE
    )
