"""Who may use the studio: the user who started it, in the browser that was opened with the link, from our own pages.

Whose connection a request comes over is asked first, at every request (`connections`). The link holds a key that works
once. It leads to a name under which this studio alone can be found, RANDOM.localhost: browsers take such a name for
this machine. In exchange for the key the browser gets a cookie, which no script can read and no other site can make it
send. Cookies know no ports: one of 127.0.0.1 would go to every server on this machine. That of a name goes to whoever
listens under that name, which is shown in no list of processes or connections; nor can anybody have left a cookie or a
script there before. What changes anything must come from our own origin and carry the key of the form besides. A page
that another site has a name point to this machine (DNS rebinding) fails at the name.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A published page has scripts and styles of its own, named by their hashes in its own policy. It runs as a stranger.
PAGE_POLICY = "sandbox allow-scripts allow-popups; frame-ancestors 'self'"
_HEADERS = {
    "referrer-policy": "same-origin",  # (without one a form of ours would name no origin)
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


_USED = "The link was used before, or is not whole. The terminal shows a new one."
# Browsers count where a redirection came from, and would not send the cookie along; a page of ours may go on.
_ENTERED = (
    '<!doctype html><title>Studio</title><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0; url=/">'
    '<p><a href="/">The studio</a></p>'
)


class Keys:
    """The name of the studio, the key of the next link, the cookies of browsers that used one, and the key of forms."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self.name = f"studio-{secrets.token_hex(12)}.localhost"
        self.link = secrets.token_urlsafe(24)
        self._cookies: set[str] = set()

    def opens(self, link: str) -> bool:
        """Whether this is the key of the link."""
        return hmac.compare_digest(link.encode(), self.link.encode())

    def exchange(self, link: str) -> str | None:
        """A cookie for the key of a link, which is then of no more use; None where it is not the key."""
        if not self.opens(link):
            return None
        self.link = secrets.token_urlsafe(24)
        self._announce(self.link)
        cookie = secrets.token_urlsafe(32)
        self._cookies.add(cookie)
        return cookie

    def knows(self, cookie: str) -> bool:
        """Whether this is the cookie of a browser that was let in."""
        return any(hmac.compare_digest(cookie.encode(), known.encode()) for known in self._cookies)

    @staticmethod
    def of_form(cookie: str) -> str:
        """What every form carries."""
        return hmac.new(cookie.encode(), b"form", "sha256").hexdigest()


class Access:
    """Lets in requests of our own browser, and nobody else's."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int, ours: Callable[[Any], bool]) -> None:
        self._app, self._keys, self._ours = app, keys, ours
        self._door, self._host = f"127.0.0.1:{port}", f"{keys.name}:{port}"
        self._cookie = f"leastnoise-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            await refused(scope, receive, _with_headers(send, POLICY))
            return
        scope["form_key"] = Keys.of_form(self._cookie_of(headers))
        policy = PAGE_POLICY if scope["path"].startswith("/published/") else POLICY
        await self._app(scope, receive, _with_headers(send, policy))

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        if not self._ours(scope.get("state", {}).get("socket")):
            return _message("The studio answers the user who started it, and nobody else on this machine.")
        host, enters = headers.get("host", ""), _enters(scope, headers)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [""])[0] if enters else ""
        if host == self._door:
            at_home = f"http://{self._host}/?{urlencode({'key': given})}"
            return RedirectResponse(at_home, status_code=303) if self._keys.opens(given) else _message(_USED)
        if host != self._host:
            return _message("This address is not the studio's.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not enters:
            return _message("This request came from another site.")
        if scope["method"] not in ("GET", "HEAD") and headers.get("origin") != f"http://{host}":
            return _message("This form came from another site.")
        if self._keys.knows(self._cookie_of(headers)):
            return None
        cookie = self._keys.exchange(given)
        if cookie is None:
            return _message(_USED)
        answer = HTMLResponse(_ENTERED)
        answer.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _cookie_of(self, headers: Headers) -> str:
        """Our cookie. Other ports of this machine send theirs along, of any form and even of our name."""
        pairs = [pair.strip().partition("=") for pair in headers.get("cookie", "").split(";")]
        return next((value for name, _, value in pairs if name == self._cookie and self._keys.knows(value)), "")


def _enters(scope: Scope, headers: Headers) -> bool:
    """Whether somebody opens the first address in a window. A script or a frame of another page does not."""
    visits = headers.get("sec-fetch-mode", "navigate"), headers.get("sec-fetch-dest", "document")
    return scope["method"] == "GET" and scope["path"] == "/" and visits == ("navigate", "document")


def _message(text: str) -> Response:
    page = f"<!doctype html><title>Studio</title><p>{text}</p>"
    return HTMLResponse(page, status_code=403, headers={"connection": "close"})


def _with_headers(send: Send, policy: str) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = {**_HEADERS, "content-security-policy": policy}
            message["headers"] = [
                *((name, value) for name, value in message["headers"] if name.decode().lower() not in more),
                *((name.encode(), value.encode()) for name, value in more.items()),
            ]
        await send(message)

    return sent
