"""axe-core, which looks in a page for what keeps people out."""

from functools import cache
from pathlib import Path
from typing import Any

from tests.support.browser import Browser
from tests.support.npm_packages import install

FOLDER = Path(__file__).parents[1] / "browser"
FOUND = """
return axe.run(document, { resultTypes: ['violations'] }).then((report) => report.violations
  .filter((one) => one.impact === 'serious' || one.impact === 'critical')
  .map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(' | ')}`));
"""


def barriers(browser: Browser) -> list[Any]:
    """The serious and the critical findings in the page that the browser shows."""
    return browser.run(f"{_program()};\n{FOUND}")


@cache
def _program() -> str:
    install(FOLDER)
    return (FOLDER / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
