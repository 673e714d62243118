"""The walk in a real browser: choices show at once, a reload in the middle changes nothing, and every screen fits."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from chromium import screen
from studio_browser import Hands, running_studio, until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CUT = """const cut = each => !['INPUT', 'SELECT', 'TEXTAREA'].includes(each.tagName) &&
    getComputedStyle(each).overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1
return [...document.querySelectorAll('main *')].filter(each => !each.closest('svg, .skip'))
    .filter(each => each.getBoundingClientRect().right > arguments[0] + 1 || cut(each))
    .map(each => each.outerHTML.slice(0, 99))"""
MOVE = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"


def fits(hands: Hands) -> None:
    """Nothing is cut at the width of a phone or of a desk, by day and by night."""
    for width, mode in ((400, "dark"), (1200, "light")):
        screen(hands.browser, width, mode)
        assert hands.browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert hands.browser.execute_script(CUT, width) == []


def test_the_whole_walk(browser: Any, tmp_path: Path) -> None:
    with running_studio(tmp_path) as studio:
        walk(Hands(browser, studio.link), tmp_path)
        assert "key=" not in browser.current_url


def walk(hands: Hands, folder: Path) -> None:
    """From the table to the page, with a reload in the middle of the release."""
    browser = hands.browser
    hands.click("input[value=person]")
    assert "unit='person'" in hands.text("#code")
    fits(hands)
    hands.go_on("question")
    hands.click("input[value=crosstabs]")
    for column, keys in (("district", "Harbour, Old Town, Mill"), ("sex", "F, M")):
        hands.click(f"input[name=by][value={column}]")
        hands.fill(f"textarea[name='keys:{column}']", keys)
    assert hands.value("textarea[name='keys:district']") == "Harbour, Old Town, Mill"  # kept by the second
    fits(hands)
    hands.go_on("limits")
    hands.fill("input[name=max_rows]", "1")
    fits(hands)
    hands.go_on("privacy")

    before = hands.text("#look")
    browser.execute_script(MOVE, hands.one("input[type=range]"), 4)
    until(lambda: hands.text("#look") != before)
    assert hands.value("input[name=epsilon]") == "0.05"
    hands.click("section summary")
    hands.one("button[value=create]").click()
    until(lambda: "0% spent" in hands.text("#look"))
    browser.execute_script(MOVE, hands.one("input[type=range]"), 0.4)
    until(lambda: "takes 40%" in hands.text("#look"))
    typed_in_pieces(hands)
    browser.execute_script(MOVE, hands.one("input[type=range]"), 0.4)
    hands.fill("input[name=error]", "30\t")
    until(lambda: hands.value("input[name=share]") != "0.4")
    assert 0 < float(hands.value("input[name=share]")) < 0.4
    fits(hands)
    hands.go_on("release")
    hands.fill("input[name=confirm]", "release")
    fits(hands)
    hands.one("main form button.main").click()
    browser.get(browser.current_url)  # reloaded in the middle of it
    until(lambda: ln.Budget.open(folder / "people.ledger").history())
    until(lambda: (folder / "people.html").exists())
    browser.get(browser.current_url.replace("/release", "/results"))
    browser.switch_to.frame(hands.one("iframe"))
    assert until(lambda: "How well are people protected?" in browser.page_source)
    browser.switch_to.default_content()
    fits(hands)
    assert len(ln.Budget.open(folder / "people.ledger").history()) == 1
    base = browser.current_url.partition("/job/")[0]
    for path in ("/budgets", "/budget?place=people.ledger"):
        browser.get(base + path)
        fits(hands)
    messages = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not messages, messages


def typed_in_pieces(hands: Hands) -> None:
    """A number that is half typed, such as 0. or 0.0, is no mistake yet: nothing turns red before the field is left."""
    watch = "window.red = 0; new MutationObserver(() => window.red += document.querySelectorAll('.problem').length)"
    hands.browser.execute_script(watch + ".observe(document.querySelector('#look'), {childList: true, subtree: true})")
    typing = """const [field, text] = arguments, changed = new Event('input', {bubbles: true})
        for (let end = 1; end <= text.length; end++)
            setTimeout(() => { field.value = text.slice(0, end); field.dispatchEvent(changed) }, 100 * end)
        setTimeout(() => field.dispatchEvent(new Event('change', {bubbles: true})), 100 * (text.length + 1))"""
    hands.browser.execute_script(typing, hands.one("input[name=share]"), "0.03")
    until(lambda: "takes 3%" in hands.text("#look"))
    assert hands.browser.execute_script("return window.red") == 0


def test_files_are_dropped_texts_switched_off_and_the_back_button_goes_back(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sexes.csv").write_text("sex\nF\nM\n")
    with running_studio(tmp_path) as studio:
        hands = Hands(browser, studio.link)
        hands.click("input[value=person]")
        hands.go_on("question")
        assert hands.one(".teach").is_displayed()
        hands.click("[data-explain]")
        assert not hands.one(".teach").is_displayed()
        hands.click("input[name=by][value=sex]")
        hands.one("fieldset.keys input[type=file]").send_keys(str(tmp_path / "mine" / "sexes.csv"))
        until(lambda: hands.value("textarea[name='keys:sex']") == "sexes.csv:sex")
        until(lambda: "read_public_column" in hands.text("#code"))
        drop = (
            "const files = new DataTransfer(); files.items.add(new File([arguments[1]], arguments[2]));"
            "arguments[0].dispatchEvent(new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true}))"
        )
        browser.execute_script(drop, hands.one("fieldset.keys"), "F\nM\n", "sexes.txt")
        until(lambda: hands.value("textarea[name='keys:sex']") == "F\nM")
        browser.execute_script(drop, hands.one("fieldset.keys"), "PAR1", "people.parquet")
        until(lambda: "end in" in hands.text(".drop [role=status]"))
        hands.go_on("limits")
        assert not hands.one(".teach").is_displayed()  # as it was switched off
        browser.back()
        hands.arrive("question")
        assert hands.value("textarea[name='keys:sex']").replace(",", " ").split() == ["F", "M"]
        hands.click("[data-explain]")
        # the server stops: the page says so, and the job's file has what was chosen
        studio.process.terminate()
        studio.process.wait(30)
        hands.click("input[name=by][value=sex]")
        until(lambda: "does not answer" in hands.text("main > .problem"))
        assert 'sex = ["F", "M"]' in (tmp_path / "people.toml").read_text()
    with running_studio(tmp_path) as studio:
        hands = Hands(browser, studio.link)
        browser.get(browser.current_url.replace("/table", "/question"))
        assert hands.value("textarea[name='keys:sex']") == "F, M"


def test_no_other_server_of_the_machine_gets_the_cookie(browser: Any, tmp_path: Path) -> None:
    """Cookies know no ports: what another server is sent is what the studio's name alone keeps from it."""
    sent: list[str | None] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers.get("cookie"))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *given: object) -> None:
            pass

    with running_studio(tmp_path) as studio, ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        Hands(browser, studio.link)
        (cookie,) = browser.get_cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        for host in ("127.0.0.1", "localhost", "other.localhost"):
            browser.get(f"http://{host}:{other.server_port}/")
        other.shutdown()
    assert set(sent) == {None}
