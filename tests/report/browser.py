"""A headless Chromium that reports what a page asked for and what its console said."""

import json
import pathlib
import shutil
import sys

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

MISSING = [
    name
    for name, found in (("python3-selenium", webdriver), ("chromium", BROWSER), ("chromium-driver", DRIVER))
    if not found
]


class Browser:
    def __init__(self, width=1200, height=900):
        options = Options()
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
        ):
            options.add_argument(argument)
        options.binary_location = BROWSER
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)

    def open(self, path):
        self.driver.get_log("performance"), self.driver.get_log("browser")
        self.driver.get(pathlib.Path(path).resolve().as_uri())

    def media(self, scheme="light", medium=""):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": medium, "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )

    def requests(self):
        """Addresses that were asked for since open(), data: apart."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith("data:")]

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def close(self):
        self.driver.quit()


def skip_where_it_is_missing():
    if MISSING:
        print(f"WARPCHECK_SKIP: {', '.join(MISSING)} not installed (ci/packages)")
        sys.exit(0)
