"""Finding tools among those that servers list: as they are now, and each owner's own."""

from pathlib import Path

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.core.background import BackgroundQueue
from loci.core.identity import Owner
from loci.gateway.call_history import Usage
from loci.gateway.configuration import ConfiguredServer, ServerEntry
from loci.gateway.tool_embeddings import ToolEmbeddings
from loci.gateway.tool_search import ToolSearch
from loci.gateway.tool_server import UpstreamTool
from loci.model_store.models import ModelsFolder
from tests.support.each import each

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")


def found(discovery: ToolSearch, owner: Owner, description: str) -> list[str]:
    """The tools that draw a cat, if this is the only one of the owner's only server."""
    tool = UpstreamTool("shop", "run", None, description, {"type": "object"}, None, {})
    servers = [ConfiguredServer("shop", ServerEntry.model_validate({"command": "shop"}), (tool,), 0.0)]
    tools = discovery.find(owner, "draw a cat", servers, (), limit=5, related=False, context=()).tools
    return [one.tool.id for one in tools]


@each("owner", [ANN, BOB])
def test_a_tool_is_found_by_what_it_does_now_for_this_owner(tmp_path: Path, owner: Owner) -> None:
    records = SqliteRecords(Database(tmp_path / f"{owner.subject}.db"), lambda: 0.0)
    embedder = OnnxEmbedder(CurrentModel(ModelsFolder(tmp_path), "embedder"))
    discovery = ToolSearch(Usage(records, BackgroundQueue()), ToolEmbeddings(records, lambda: embedder))
    assert found(discovery, ANN, "Add two numbers.") == []
    assert found(discovery, owner, "Draw a cat.") == ["shop:run"]
    assert found(discovery, ANN, "Add two numbers.") == []
