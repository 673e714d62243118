"""docs/img/studio*.png: three steps of the studio, with a set of tables of the made-up register.

Needs Chromium and its driver. Run it after a change of the studio's look: python docs/theme/studio_picture.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
from PIL import Image

from leastnoise import datasets, domain
from leastnoise._support import toml

IMAGES = Path(__file__).resolve().parents[1] / "img"
PICTURES = {"question": ("studio-question", 1120), "privacy": ("studio", 1240), "results": ("studio-results", 1320)}


def main() -> None:
    from selenium import webdriver

    with tempfile.TemporaryDirectory() as folder:
        desk = Path(folder)
        pq.write_table(datasets.people(20_000), desk / "people.parquet")
        domain.write(desk / "keys.toml", datasets.people_keys())
        job = {
            "keys": "keys.toml",
            "table": {"source": "people.parquet", "unit": "person"},
            "ask": {"kind": "crosstabs", "ways": 2, "max_rows": 1},
            "privacy": {"budget": "register.ledger", "share": 0.25},
            "output": {
                "release": "people-release.parquet",
                "estimate": "people-denoised.parquet",
                "page": "people.html",
                "excel": "people-release.xlsx",
                "title": "Who lives where, 2026",
            },
        }
        (desk / "people.toml").write_text(toml.document(job))
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
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        browser.get(link[0])
        for step, (name, height) in PICTURES.items():
            if step == "results":
                subprocess.run([*command, "run", "people.toml"], cwd=desk, check=True)
            browser.set_window_size(1200, height)
            browser.get(f"{browser.current_url.rpartition('/')[0]}/{step}")
            time.sleep(2)  # the published page is painted after the page around it
            picture = IMAGES / f"{name}.png"
            browser.save_screenshot(str(picture))
            Image.open(picture).convert("RGB").quantize(96).save(picture, optimize=True)  # a third of the size
        browser.quit()
        studio.terminate()


if __name__ == "__main__":
    main()
