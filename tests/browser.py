"""Chromium without a window: what a page writes to the console, requests, and shows.

The picture of the report in docs/ is made by it, after `make demo`:
`.venv/bin/python tests/browser.py out/report.html docs/report.png`. That of a timeline is made by
`.venv/bin/python tests/browser.py timeline.html docs/timeline.png --height 900`, after the command
of docs/gallery.md; docs/player.md has the command for its own.
"""

import argparse
import base64
import json
import shutil
import time
from importlib import resources
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_S = 60.0
"""How long charts may take to be drawn on a busy machine."""

LOCAL = ("file:", "data:", "blob:", "about:")


def missing() -> str | None:
    """What is missing to open pages, in a sentence."""
    if CHROMIUM and DRIVER:
        return None
    return "chromium and chromedriver are not installed (on Debian the packages chromium and chromium-driver)"


class Browser:
    """A browser that looks at one page at a time."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        # Tests may run as root and in containers, where neither its sandbox nor /dev/shm is to be
        # had.
        for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "hide-scrollbars"):
            options.add_argument(f"--{argument}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
        # Longer than the usual 30 s: axe looks at everything, beside whatever else is tested.
        self.driver.set_script_timeout(180)
        self.asked: list[str] = []
        """Addresses that the page asked for and that are not on this machine."""
        self.console: list[str] = []
        """What the page wrote to the console."""

    def open(self, path: Path, *, width: int = 1280, scheme: str = "light") -> None:
        """Open a file and wait until its charts are drawn."""
        self.command("Emulation.setEmulatedMedia", media="", features=[_scheme(scheme)])
        self.resize(width)
        self.driver.get(path.as_uri())
        self.wait("return [...document.querySelectorAll('.plot')].every((each) => each.matches('.live'))")
        self._listen()

    def resize(self, width: int, height: int = 900) -> None:
        """Give the page a size in pixels, as a screen of that size would."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, scheme: str, media: str = "") -> None:
        """Prefer light or dark; as on a screen, or as on paper."""
        self.command("Emulation.setEmulatedMedia", media=media, features=[_scheme(scheme)])

    def _listen(self) -> None:
        self.console = [entry["message"] for entry in self._log("browser")]
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        self.asked = [url for url in urls if not url.startswith(LOCAL)]

    def _log(self, kind: str) -> list[Any]:
        entries: list[Any] = self.driver.get_log(kind)  # type: ignore[no-untyped-call] # selenium's own
        return entries

    def wait(self, condition: str) -> None:
        """Wait until a script returns true."""
        end = time.monotonic() + PATIENCE_S
        while not self.run(condition):
            assert time.monotonic() < end, f"not so after {PATIENCE_S} s: {condition}"
            time.sleep(0.05)

    def run(self, script: str, *arguments: Any) -> Any:  # noqa: ANN401 - JSON
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def command(self, name: str, **parameters: Any) -> Any:  # noqa: ANN401 - JSON
        """A command of the browser's own protocol."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that a selector matches."""
        return [element.text for element in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def paper(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.command("Page.printToPDF", printBackground=True)["data"])

    def picture(self, path: Path, height: int | None = None) -> None:
        """A picture of the whole page, or of its first pixels, for people who look at it."""
        size = self.run("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": height or size[1], "scale": 1}
        data = self.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def violations(self) -> list[str]:
        """What axe-core finds against accessibility, apart from the thousands of chart marks."""
        source = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
        self.run(source)
        script = (
            "const done = arguments[0]; axe.run({ exclude: [['.role-mark']] }).then((found) => done(found.violations));"
        )
        entries = self.driver.execute_async_script(script)
        return [
            f"{rule['id']}: {node['target']}: {node['failureSummary']}" for rule in entries for node in rule["nodes"]
        ]

    def close(self) -> None:
        """End it."""
        self.driver.quit()


def _scheme(name: str) -> dict[str, str]:
    return {"name": "prefers-color-scheme", "value": name}


def _draw() -> None:
    """Draw a picture of a page, as the command line says."""
    parser = argparse.ArgumentParser(description="Draw a picture of a page.")
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=1480)
    parser.add_argument("--script", default="", help="what the page does before")
    asked = parser.parse_args()
    shown = Browser()
    try:
        shown.open(asked.page.resolve(), width=asked.width)
        shown.resize(asked.width, asked.height)
        if asked.script:
            shown.wait("return document.documentElement.classList.contains('ready')")
            shown.run(asked.script)
        shown.picture(asked.picture, height=asked.height)
    finally:
        shown.close()


if __name__ == "__main__":
    _draw()
