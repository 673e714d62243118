"""The pages of the studio, as an ASGI application: one address a step, and a job's file behind them."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from leastnoise import errors
from leastnoise._support import outputs
from leastnoise._support.text import rounded
from leastnoise.jobs.fields import WRITTEN
from leastnoise.report import document
from leastnoise.studio import budgets, key_upload, limits
from leastnoise.studio.access import Access, Keys
from leastnoise.studio.connections import is_ours
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import in_words
from leastnoise.studio.session import Studio
from leastnoise.studio.steps import STEPS, state

MAX_BODY_BYTES = 2**20  # of a form
MAX_FIELDS = 5000  # of a form
SEVERAL = ("by",)  # what may be chosen several times
LOST = "A release of this job was paid for and not published, so it stays as it was. See the step about the release."
RELEASED = "This job was released, and stays as it was. Ask another question at the end of the walk."


def application(studio: Studio, keys: Keys, port: int, ours: Callable[[Any], bool] = is_ours) -> Starlette:
    """The application for one folder; `keys` says who may use it, and `ours` over which sockets."""
    pages = _Pages(studio)
    return Starlette(
        routes=[
            Route("/", pages.first),
            Route("/look.css", look),
            Mount("/static", StaticFiles(packages=[("leastnoise.studio", "static")])),
            Route("/published/{job}", pages.published),
            Route("/file/{job}/{name}", pages.download),
            Route("/budgets", pages.budgets),
            Route("/budget", pages.budget),
            Route("/budget/{action}", pages.change_budget, methods=["POST"]),
            Route("/job/{job}/another", pages.another, methods=["POST"]),
            Route("/job/{job}/keys", pages.keys, methods=["POST"]),
            Route("/job/{job}/release/state", pages.state),
            Route("/job/{job}/{step}", pages.show),
            Route("/job/{job}/{step}", pages.send, methods=["POST"]),
        ],
        middleware=[Middleware(Access, keys=keys, port=port, ours=ours)],
        exception_handlers={404: pages.not_found, 500: pages.broken, errors.LeastnoiseError: pages.refused},
    )


def look(request: Request) -> Response:
    """The colours and pictures of the pages that are published, which are the studio's, too."""
    return Response(document.look(), media_type="text/css")


def _sent(handler: Callable[[_Pages, Request, dict[str, Any]], Response]) -> Any:
    """What is done with a form of ours, in a thread."""

    async def handled(pages: _Pages, request: Request) -> Response:
        fields = await _form(request)
        return fields if isinstance(fields, Response) else await run_in_threadpool(handler, pages, request, fields)

    return handled


class _Pages:
    """The handlers. Each reads the job's file anew: the file is the state, and a reload shows it."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._last = "/"  # where the walk was left, for the pages that are about no job
        self._templates = Environment(
            loader=PackageLoader("leastnoise.studio"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._templates.filters["rounded"] = rounded

    def first(self, request: Request) -> Response:
        return RedirectResponse(_address(self._studio.first_name, "table"), status_code=303)

    def show(self, request: Request) -> Response:
        draft, step = self._draft(request), request.path_params["step"]
        if step not in STEPS:
            return self.not_found(request, None)
        missing = _missing(draft, step)
        if missing is not None:
            return RedirectResponse(_address(draft.name, missing), status_code=303)
        self._last = _address(draft.name, step)
        try:
            return self._page(request, draft, step, {})
        except errors.LeastnoiseError as problem:
            earlier = _before(step)
            if earlier == step:
                return self._problem_page(request, in_words(problem, self._studio.folder))
            return self._page(request, draft, earlier, {}, in_words(problem, self._studio.folder))

    @_sent
    def send(self, request: Request, fields: dict[str, Any]) -> Response:
        step = request.path_params["step"]
        if step not in STEPS:
            return self.not_found(request, None)
        if fields.get("go") == "stay":
            return self._page(request, self._draft(request), step, fields)
        with self._studio.saving:  # one after another: what is released is the job as it is in its file
            return self._save(request, self._draft(request), step, fields)

    def _save(self, request: Request, draft: Draft, step: str, fields: dict[str, Any]) -> Response:
        try:
            found = "open" if step == "release" else state(self._studio, draft)
            if found != "open":
                return self._page(request, draft, step, fields, LOST if found == "lost" else RELEASED, status=422)
            changed = STEPS[step].save(self._studio, draft, fields)
            if changed.found != draft.found and step != "release":
                changed.write()
                self._studio.releases.forget(draft.name)
        except errors.LeastnoiseError as problem:
            return self._page(request, draft, step, fields, in_words(problem, self._studio.folder), status=422)
        going_on = fields.get("go", "next") == "next" and step != "release"
        return RedirectResponse(_address(draft.name, _after(step) if going_on else step), status_code=303)

    def state(self, request: Request) -> Response:
        """How far the release of this job is."""
        progress = self._studio.releases.of(self._draft(request).name)
        return JSONResponse({"state": progress.state, "seconds": progress.seconds})

    @_sent
    def another(self, request: Request, fields: dict[str, Any]) -> Response:
        """A new job about the same table and the same keys."""
        draft = self._draft(request)
        privacy = draft.section("privacy") | {"force": None}  # whoever wants that ticks it for this question, too
        with self._studio.saving:
            name = self._studio.another_name()
            made = Draft.begin(self._studio.folder.path(f"{name}.toml"), draft.section("table"))
            made.with_section("keys", draft.section("keys")).with_section("privacy", privacy).write()
        return RedirectResponse(_address(name, "question"), status_code=303)

    async def keys(self, request: Request) -> Response:
        """A file of public keys that was dropped on the page; what the form shall hold."""
        body = await _body(request, key_upload.MAX_BYTES)
        if not hmac.compare_digest(request.headers.get("x-form-key", "").encode(), request.scope["form_key"].encode()):
            return JSONResponse({"problem": "This page is not of this studio. Reload it."}, status_code=403)
        if body is None:
            return JSONResponse({"problem": "This file is too large for keys."}, status_code=413)
        return await run_in_threadpool(self._keys, request, body)

    def _keys(self, request: Request, body: bytes) -> Response:
        draft, asked = self._draft(request), request.query_params
        try:
            with self._studio.saving:
                found = key_upload.receive(self._studio, draft, asked.get("name", ""), asked.get("column", ""), body)
        except errors.LeastnoiseError as problem:
            return JSONResponse({"problem": in_words(problem, self._studio.folder)}, status_code=422)
        return JSONResponse(found)

    def budgets(self, request: Request, problem: str = "") -> Response:
        """All budgets of the studio."""
        shown = {"lines": budgets.listed(self._studio), "unit": self._first_unit()}
        return self._plain_page(request, "budgets.html", shown, problem)

    def budget(self, request: Request, place: str = "", problem: str = "") -> Response:
        """One budget: its allocations and its history."""
        shown = budgets.shown(self._studio, place or request.query_params.get("place", ""))
        return self._plain_page(request, "budget.html", shown, problem)

    @_sent
    def change_budget(self, request: Request, fields: dict[str, Any]) -> Response:
        """Begin a budget, connect to one, or give a part of it to others."""
        act = budgets.ACTIONS.get(request.path_params["action"])
        if act is None:
            return self.not_found(request, None)
        try:
            with self._studio.saving:
                place = act(self._studio, fields)
        except errors.LeastnoiseError as problem:
            words = in_words(problem, self._studio.folder)
            if request.path_params["action"] in ("create", "connect"):
                return self.budgets(request, words)
            return self.budget(request, str(fields.get("place", "")), words)
        return RedirectResponse(f"/budget?{urlencode({'place': place})}", status_code=303)

    def _plain_page(self, request: Request, template: str, shown: dict[str, Any], problem: str) -> Response:
        context = {"problem": problem, "form_key": request.scope["form_key"], "draft": None, "back": self._last}
        made = self._templates.get_template(template).render(**context, **shown)
        return HTMLResponse(made, status_code=422 if problem else 200)

    def _first_unit(self) -> str:
        try:
            return limits.unit_words(self._studio.draft(self._studio.first_name), unknown="")
        except errors.LeastnoiseError:
            return ""

    def published(self, request: Request) -> Response:
        """The page that a job made, as it was published."""
        path = self._made(self._draft(request).section("output").get("page", ""), "page")
        return self.not_found(request, None) if path is None else FileResponse(path, media_type="text/html")

    def download(self, request: Request) -> Response:
        """A file that a job made."""
        draft, name = self._draft(request), request.path_params["name"]
        generated = {draft.path.name: lambda each: each.text, draft.script_name: lambda each: each.python}
        if name in generated:
            attached = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
            return Response(generated[name](draft), media_type="text/plain", headers=attached)
        listed = name in {text for word, text in draft.section("output").items() if word in WRITTEN}
        path = self._made(name, "release", "page", "csv", "workbook") if listed else None
        return self.not_found(request, None) if path is None else FileResponse(path, filename=name)

    def _made(self, name: str, *kinds: outputs.Kind) -> Path | None:
        """The file, where it is of a kind that leastnoise writes: a table of people never is."""
        try:
            path = self._studio.folder.path(name)
        except errors.LeastnoiseError:
            return None
        return path if path.is_file() and outputs.at(path) in kinds else None

    def not_found(self, request: Request, problem: Any) -> Response:
        return self._problem_page(request, "There is no such page.", status=404)

    def refused(self, request: Request, problem: Any) -> Response:
        """An address that names no job, or a job that cannot be read."""
        return self._problem_page(request, in_words(problem, self._studio.folder))

    def broken(self, request: Request, problem: Any) -> Response:
        """A mistake of ours: its words may quote anything, so none are shown."""
        return self._problem_page(
            request, "This is a mistake of the studio's own. The page of budgets shows what was paid.", status=500
        )

    def _draft(self, request: Request) -> Draft:
        return self._studio.draft(request.path_params["job"])

    def _page(
        self, request: Request, draft: Draft, step: str, fields: dict[str, Any], problem: str = "", status: int = 200
    ) -> Response:
        shown = STEPS[step].show(self._studio, draft, fields)
        context = {
            "draft": draft, "step": step, "steps": STEPS, "problem": problem, "form_key": request.scope["form_key"],
            "later": _later(draft), "code": STEPS[step].code(self._studio, draft, fields | shown.get("as_shown", {})),
            "paid_look": limits.has_paid(self._studio, draft),
            "released": self._studio.folder.path(draft.section("output").get("release", "none")).exists(), **shown,
        }  # fmt: skip
        return HTMLResponse(self._templates.get_template(f"{step}.html").render(**context), status_code=status)

    def _problem_page(self, request: Request, message: str, status: int = 400) -> Response:
        return HTMLResponse(self._templates.get_template("problem.html").render(message=message), status_code=status)


async def _body(request: Request, most: int) -> bytes | None:
    """What was sent; None where it is more than so many bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


async def _form(request: Request) -> dict[str, Any] | Response:
    """The fields of a form of ours, or why it is refused."""
    body = await _body(request, MAX_BODY_BYTES)
    if body is None:
        return HTMLResponse("<p>This form is too long.</p>", status_code=413)
    try:
        fields = _fields(body.decode("utf-8", "replace"))
    except ValueError:
        return HTMLResponse("<p>This form is too long.</p>", status_code=413)
    if not hmac.compare_digest(str(fields.pop("form_key", "")).encode(), request.scope["form_key"].encode()):
        return HTMLResponse("<p>This form is not of this studio. Go back and reload it.</p>", status_code=403)
    return fields


def _fields(body: str) -> dict[str, Any]:
    """A form's fields: texts; lists of those that may be chosen several times. ValueError: there are too many."""
    found: dict[str, Any] = {}
    for name, value in parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FIELDS):
        if name in SEVERAL:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def _missing(draft: Draft, step: str) -> str | None:
    """The first step before this one that is not done yet; None where all are."""
    needed = {"table": "unit" in draft.section("table"), "question": "kind" in draft.section("ask")}
    needed["limits"] = needed["question"]
    needed["privacy"] = bool(draft.section("privacy"))
    for name in STEPS:
        if name == step:
            return None
        if not needed.get(name, True):
            return name
    return None


def _later(draft: Draft) -> set[str]:
    """The steps that cannot be gone to yet."""
    names, missing = list(STEPS), _missing(draft, "results")
    return set() if missing is None else set(names[names.index(missing) + 1 :])


def _after(step: str) -> str:
    names = list(STEPS)
    return names[min(names.index(step) + 1, len(names) - 1)]


def _before(step: str) -> str:
    names = list(STEPS)
    return names[max(names.index(step) - 1, 0)]


def _address(job: str, step: str) -> str:
    return f"/job/{quote(job, safe='')}/{step}"
