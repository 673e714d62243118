"""Who may use the studio: the browser that was opened with the link, on this machine, from our own pages.

A link holds a key that works once, and for this user alone; in exchange the browser gets a cookie, which no script can
read and no other site can make it send. What changes anything must come from our own origin and carry the key of the
form besides. A page that another site has a name point to this machine (DNS rebinding) fails at the name.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leastnoise.studio.connections import is_ours

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


class Keys:
    """The key of the next link, the cookie of the browser that used one, and the key of forms."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self.link = secrets.token_urlsafe(24)
        self._cookies: set[str] = set()

    def exchange(self, link: str) -> str | None:
        """A cookie for the key of a link, which is then of no more use; None where it is not the key."""
        if not hmac.compare_digest(link.encode(), self.link.encode()):
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

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        self._app, self._keys = app, keys
        self._port = port
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
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
        host = headers.get("host", "")
        if host not in self._hosts:
            return _message(403, "This address is not the studio's.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"] != "/":
            return _message(403, "This request came from another site.")
        if scope["method"] not in ("GET", "HEAD") and headers.get("origin") != f"http://{host}":
            return _message(403, "This form came from another site.")
        if self._keys.knows(self._cookie_of(headers)):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [""])[0]
        usable = scope["method"] == "GET" and scope["path"] == "/" and self._is_ours(scope)
        cookie = self._keys.exchange(given) if usable else None
        if cookie is None:
            return _message(403, "The link was used before, or is not whole. The terminal shows a new one.")
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _is_ours(self, scope: Scope) -> bool:
        """Whether a request comes from this user, by whichever address of this machine; one through no socket does."""
        host, port = scope.get("client") or ("", 0)
        return "." not in host or is_ours(port, self._port)

    def _cookie_of(self, headers: Headers) -> str:
        """Our cookie. Other ports of this machine send theirs along, of any form and even of our name."""
        pairs = [pair.strip().partition("=") for pair in headers.get("cookie", "").split(";")]
        return next((value for name, _, value in pairs if name == self._cookie and self._keys.knows(value)), "")


def _message(status: int, text: str) -> Response:
    return HTMLResponse(f"<!doctype html><title>Studio</title><p>{text}</p>", status_code=status)


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
