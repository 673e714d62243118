"""The address of a budget on a server, without a secret.

No password passes through the studio. An address with one in it is refused, so that none can stand in a page, the
address of a page or a job's file; the driver finds it in ~/.pgpass, PGPASSWORD or a certificate, as for any program.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from leastnoise import errors
from leastnoise.curator.budget import postgres_url

OPTIONS = ("budget", "sslmode", "sslrootcert", "connect_timeout")  # those that hold no secret


def checked_address(text: str) -> str:
    """An address without a secret in it. It is quoted in no error."""
    place = text.strip()
    if not postgres_url.is_url(place):
        raise errors.InvalidParameter(
            "The address of a budget on a server begins with postgresql://", parameter="place"
        )
    postgres_url.parsed(place)
    split = urlsplit(place)
    if split.password is not None or any(name not in OPTIONS for name, _ in parse_qsl(split.query)) or split.fragment:
        raise errors.InvalidParameter(
            "Leave the password out: no page and no job's file may hold one. Put it into ~/.pgpass, or into PGPASSWORD "
            f"before the studio is started. Of options an address may have {', '.join(OPTIONS)}.",
            parameter="place",
        )
    return place
