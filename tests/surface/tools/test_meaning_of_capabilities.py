"""`pml_search_capabilities` with a real model."""

from contextlib import closing
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.gateway.capabilities.api import EndedRun
from loci.model_store.models import ModelsFolder
from tests.surface.tools.workbench import Workbench

pytestmark = [pytest.mark.anyio, pytest.mark.models]
OTHERS = ("send a message to a channel", "resize the images of a folder", "count the commits of an author")


async def test_the_example_of_the_reference_is_found_by_its_meaning(minilm: ModelsFolder, tmp_path: Path) -> None:
    with closing(build_app(load_settings({"data": tmp_path, "models": minilm.folder}))) as app:
        for number, intent in enumerate(("fetch API data and insert to DB", *OTHERS)):
            app.tools.capabilities.learn(LOCAL, EndedRun(f"return {number} * 7", intent, {}, (), worked=True))
        app.tools.finish_learning()
        bench = Workbench(app)
        first = (await bench.search("parse JSON from API and store in database"))[0]
        assert first["intent"] == "fetch API data and insert to DB"
        assert first["match_score"] > 0.5
        assert all(one["match_score"] < 0.5 for one in await bench.search("deploy to kubernetes"))
