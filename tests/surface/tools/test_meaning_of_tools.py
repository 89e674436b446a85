"""`pml_search_tools` with a model: tools are embedded beside the searches."""

from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.stores import every
from loci.mcp.server import build_server
from tests.support.polling import until_told
from tests.support.small_models import EMBEDDER, lay_out_embedder
from tests.surface.results import structured
from tests.surface.tools.conftest import upstream

pytestmark = pytest.mark.anyio


async def test_a_tool_is_found_by_its_meaning_once_it_is_embedded(tmp_path: Path) -> None:
    lay_out_embedder(tmp_path / "models")
    told: dict[str, object] = {"data": tmp_path / "data", "models": tmp_path / "models", "embedder": EMBEDDER}
    with closing(build_app(load_settings(told))) as app:
        app.tools.add(LOCAL, "shop", upstream())
        app.tools.ask(LOCAL, "shop")

        async def is_near() -> bool:
            async with Client(build_server(app, "tools"), mode="2026-07-28") as client:
                answer = await client.call_tool("pml_search_tools", {"query": "numbers to add", "limit": 1})
            return "near in meaning" in structured(answer)["tools"][0]["why"]

        assert not await is_near()
        await until_told(is_near)
        again = build_app(app.settings)  # another process has them from the store
        [vectors] = every(again.records, LOCAL, "tool_vectors")
        assert len(vectors.value) > 4
        again.close()
