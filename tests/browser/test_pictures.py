"""The pictures of the documentation: a walk through the pages with the examples. `make pictures` writes them."""

import io
import json
import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from PIL import Image

from tests.support.at_terminal import at_terminal
from tests.support.browser import Browser
from tests.support.serving import LOCI, clean_environment, loci, serving

pytestmark = pytest.mark.browser
EXAMPLES = Path(__file__).parents[2] / "examples"
PIN = "hedgehog 7"
SIZE = 1280, 800
FRAME_MS = 2500


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """A Loci with the examples, in which a step waits for a person."""
    folder = tmp_path_factory.mktemp("pictures")
    shutil.copytree(EXAMPLES, folder / "examples")
    data, examples = folder / "data", folder / "examples"
    loci(data, "ingest", str(examples / "decisions"))
    loci(data, "add", *map(str, sorted((examples / "reports").glob("*.xlsx"))))
    at_terminal([*LOCI, "pin"], clean_environment(data), PIN, PIN)
    with serving(data) as server:
        plan = (examples / "workflow.json").read_text("utf-8")
        asked = json.loads(loci(data, "call", "pml_execute_dag", plan, "--url", f"{server.url}/mcp").stdout)
        assert asked["status"] == "paused"
        yield f"{server.url}/ui"


def test_the_walk_of_the_pictures(browser: Browser, url: str) -> None:
    pictures: dict[str, bytes] = {}

    def take(name: str, *there: str) -> None:
        for text in there:
            browser.until("document.body.innerText.includes(arguments[0])", text)
        pictures[name] = browser.picture()

    browser.resize(*SIZE)
    browser.stand_still()
    browser.go(url)
    take("home", "wants to call loci:write_document")
    browser.go(f"{url}/search?q=why+did+we+give+the+vans+back")
    take("search", "Hand deliveries to a carrier")
    browser.go(f"{url}/runs")
    take("runs", "Write the revenue of each year into the notes")
    browser.run("document.querySelector('a[href*=approve]').click()")
    take("approve", "309686.20", "Approve")
    browser.type("input[type=password]", PIN)
    browser.run("document.querySelector('button[value=approve]').click()")
    browser.until("document.body.innerText.includes('Approved')")
    browser.run("[...document.querySelectorAll('a')].find((one) => one.href.includes('/runs/')).click()")
    take("run", "complete")
    assert browser.complaints() == []
    if folder := os.environ.get("PICTURES"):
        write(Path(folder), pictures)


def write(folder: Path, pictures: dict[str, bytes]) -> None:
    """Write each picture, and the walk as one that moves."""
    frames = [Image.open(io.BytesIO(one)).convert("RGB") for one in pictures.values()]
    for name, frame in zip(pictures, frames, strict=True):
        frame.save(folder / f"{name}.webp", quality=80, method=6)
    frames[0].save(
        folder / "walk.webp", save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0, quality=75, method=6
    )
