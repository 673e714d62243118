"""docs/img/studio.png: the step about privacy of the studio, with a set of tables of the made-up register.

Needs Chromium and its driver. Run it after a change of the studio's look: python docs/theme/studio_picture.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from leastnoise import datasets, domain
from leastnoise._support import toml_text

TARGET = Path(__file__).resolve().parents[1] / "img" / "studio.png"


def main() -> None:
    from selenium import webdriver

    with tempfile.TemporaryDirectory() as name:
        desk = Path(name)
        pq.write_table(datasets.people(20_000), desk / "people.parquet")
        domain.write(desk / "keys.toml", datasets.people_keys())
        job = {
            "keys": "keys.toml",
            "table": {"source": "people.parquet", "unit": "person"},
            "ask": {"kind": "crosstabs", "ways": 2, "max_rows": 1},
            "privacy": {"budget": "register.ledger", "share": 0.25},
            "output": {"release": "people-release.parquet", "page": "people.html"},
        }
        (desk / "people.toml").write_text(toml_text.document(job))
        command = [sys.executable, "-m", "leastnoise"]
        limits = ["--epsilon", "3", "--delta", "1e-6", "--unit", "person"]
        subprocess.run([*command, "budget", "create", "register.ledger", *limits], cwd=desk, check=True)
        studio = subprocess.Popen(
            [*command, "studio", "people.parquet", "--no-browser"], cwd=desk, stdout=subprocess.PIPE, text=True
        )
        assert studio.stdout is not None
        link = re.search(r"http://\S+", studio.stdout.readline())
        assert link
        options = webdriver.ChromeOptions()
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,1180"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        browser.get(link[0])
        browser.get(browser.current_url.replace("/table", "/privacy"))
        browser.save_screenshot(str(TARGET))
        browser.quit()
        studio.terminate()


if __name__ == "__main__":
    main()
