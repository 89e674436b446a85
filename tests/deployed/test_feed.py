"""A folder of this machine into the deployed Loci: `loci ingest --to` with a key, through the API."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.deployed.deployment import Deployment, Door
from tests.deployed.users import NewUser, User
from tests.support.serving import loci
from tests.surface.results import structured

pytestmark = [pytest.mark.aws, pytest.mark.anyio]

NOTES = {
    "briefs/harbour.md": "# Harbour\n\nThe ferry sails at noon.\n",
    "100% ü & #1?.md": "# Odd\n\nThe ferry has an odd name.\n",
    "plan.md": "# Plan\n\nTake the ferry.\n",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The deployed Loci, as its user has it."""

    door: Door
    user: User
    here: Path

    def feed(self, folder: Path) -> dict[str, Any]:
        """What the command says that it did."""
        key = self.user.key
        done = loci(self.here, "ingest", str(folder), "--to", f"{self.door.url}/mcp", "--json", LOCI_KEY=key)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        return {name: told[name] for name in ("seen", "sent", "unchanged", "removed")}

    async def found(self, word: str) -> set[str]:
        """The paths of what a client finds there."""
        http = create_mcp_http_client({**self.door.headers, **self.user.headers})
        async with http, Client(streamable_http_client(f"{self.door.url}/mcp", http_client=http)) as client:
            answer = await client.call_tool("search_documents", {"query": word})
        return {row["path"] for row in structured(answer)["results"]}


@pytest.fixture
def there(deployment: Deployment, new_user: NewUser, tmp_path: Path) -> Elsewhere:
    return Elsewhere(deployment.door("REST API"), new_user(), tmp_path / "here")


async def test_a_folder_is_searched_there_as_it_is_now(there: Elsewhere, notes: Path) -> None:
    assert there.feed(notes) == {"seen": 3, "sent": 3, "unchanged": 0, "removed": 0}
    assert await there.found("ferry") == {f"notes/{path}" for path in NOTES}
    (notes / "plan.md").write_text("# Plan\n\nTake the marzipan.\n")
    assert there.feed(notes) == {"seen": 3, "sent": 1, "unchanged": 2, "removed": 0}
    assert await there.found("marzipan") == {"notes/plan.md"}
    (notes / "plan.md").unlink()
    assert there.feed(notes) == {"seen": 2, "sent": 0, "unchanged": 2, "removed": 1}
    assert await there.found("marzipan") == set()
