"""Does a Spark Connect server answer? Its own client would go on asking one that is gone for ten minutes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

RETRIES = 4  # after 0.05, 0.2, 0.8 and 3.2 seconds
READ_RETRIES = 6  # and after 13 and 51: while rows are read, a server is waited for about a minute
_lock = threading.Lock()


def is_remote(session: Any) -> bool:
    """Whether this is a session of Spark Connect: a client without a JVM."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def second_session(session: Any) -> Any:
    """Another session of the same user on the same server, in the same catalogue and database."""
    from pyspark.sql.connect.session import SparkSession

    client = session.client
    builder = copy.copy(client._builder)
    builder._params = {name: value for name, value in builder._params.items() if name != "session_id"}
    made = SparkSession(connection=builder, userId=client._user_id)
    made.catalog.setCurrentCatalog(session.catalog.currentCatalog())
    made.catalog.setCurrentDatabase(session.catalog.currentDatabase())
    return made


def end(session: Any) -> None:
    """Let the server forget a session of ours."""
    with suppress(Exception):  # the server may be gone
        session.client.release_session()
        session.client.close()


def is_gone(session: Any) -> bool:
    """Whether nothing can be put back or dropped any more, because the server of a Connect session does not answer."""
    return is_remote(session) and not answers(session)


def answers(session: Any) -> bool:
    """Whether the server of a Connect session knows it, within about five seconds. No row is read."""
    if session.is_stopped:
        return False
    try:
        with _few_retries(session.client):
            session.conf.get("spark.sql.session.timeZone")
    except Exception:
        return False
    return True


def shorten_retries(session: Any) -> list[Any]:
    """The client's own policies, of which those that go on for longer are replaced until they are put back."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    if not is_remote(session):
        return []
    with _lock:
        usual: list[Any] = session.client.get_retry_policies()
        short = DefaultPolicy(max_retries=READ_RETRIES)
        few = [short if each.max_retries is None or each.max_retries > READ_RETRIES else each for each in usual]
        session.client.set_retry_policies(few)
    return usual


def put_back_retries(session: Any, usual: list[Any]) -> None:
    if usual:
        with _lock:
            session.client.set_retry_policies(usual)


@contextmanager
def _few_retries(client: Any) -> Iterator[None]:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    with _lock:  # else the short list of one thread would be put back by another
        usual = client.get_retry_policies()
        client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
        try:
            yield
        finally:
            client.set_retry_policies(usual)
