"""Documents from their upload to an answer: S3, the queue, the function, OpenSearch, and a client at the API."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from loci.documents.ingest.uploads import upload_prefix
from tests.deployed.deployment import INGEST, Deployment, Door
from tests.deployed.users import NewUser, User
from tests.support.polling import until
from tests.support.serving import call
from tests.surface.results import structured, texts

pytestmark = [pytest.mark.aws, pytest.mark.anyio]

ASIDE = "loci-local-ingest-aside"
FERRIES = "---\ntags: [sea]\n---\n# Ferries\n\nThe ferry to Grado sails at noon.\n"
NOTES = {
    "briefs/2026-01-10 ferries & ships+1.md": FERRIES,
    "briefs/2026-02-03-trains.md": "---\ntags: [rail, sea]\n---\n# Trains\n\nThe train meets the ferry.\n",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, slots=True)
class Folder:
    """An owner's part of the bucket, and their way to ask."""

    deployment: Deployment
    door: Door
    user: User

    def put(self, path: str, text: str) -> None:
        self.deployment.aws("s3").put_object(**self._place(path), Body=text.encode())

    def remove(self, path: str) -> None:
        self.deployment.aws("s3").delete_object(**self._place(path))

    def ask(self, tool: str, **arguments: object) -> Any:
        """What the tool answers."""
        result = self.door.post(call(tool, arguments), self.user.headers).message()["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    def paths(self, tool: str, **arguments: object) -> list[str]:
        """Of the documents that the tool finds."""
        return sorted(one["path"] for one in self.ask(tool, **arguments)["results"])

    def _place(self, path: str) -> dict[str, str]:
        return {"Bucket": self.deployment.outputs["Bucket"], "Key": upload_prefix(self.user.owner) + path}


@pytest.fixture(scope="module")
def notes(deployment: Deployment, new_user: NewUser) -> Folder:
    """Somebody's, uploaded and found."""
    folder = Folder(deployment, deployment.door("REST API"), new_user())
    for path, text in NOTES.items():
        folder.put(path, text)
    until(lambda: len(folder.paths("search_documents", query="ferry")) == len(NOTES))
    return folder


async def test_an_uploaded_document_is_found_and_read_by_a_client(notes: Folder) -> None:
    http = create_mcp_http_client({**notes.door.headers, **notes.user.headers})
    async with http, Client(streamable_http_client(f"{notes.door.url}/mcp", http_client=http)) as client:
        answer = await client.call_tool("search_documents", {"query": "when does the ferry to Grado sail?"})
        best = structured(answer)["results"][0]
        read = await client.call_tool("read_node_content", {"id": best["id"]})
    assert (best["preview"], best["path"]) == ("Ferries", "briefs/2026-01-10 ferries & ships+1.md")
    assert texts(read)[0] == FERRIES


def test_the_other_tools_find_it_by_its_date_its_tags_and_its_folder(notes: Folder) -> None:
    [ferries, trains] = NOTES
    assert notes.paths("temporal_search", query="ferry", date_range="2026-02") == [trains]
    assert notes.paths("query_by_tags", tags=["sea"]) == [ferries, trains]
    assert notes.paths("query_by_tags", tags=["sea"], without=["rail"], query="ferry") == [ferries]
    assert notes.ask("list_directory_structure")["result"] == ["briefs/"]


def test_an_owner_finds_nothing_of_anothers(notes: Folder, new_user: NewUser) -> None:
    other = Folder(notes.deployment, notes.door, new_user())
    other.put("mine.md", "# Mine\n\nThe ferry of another.\n")
    until(lambda: other.paths("search_documents", query="ferry"))
    [mine] = other.ask("search_documents", query="ferry")["results"]
    assert mine["path"] == "mine.md"
    refused = notes.door.post(call("read_node_content", {"id": mine["id"]}), notes.user.headers).message()["result"]
    assert refused["isError"]
    assert "mine.md" not in notes.paths("search_documents", query="ferry")


def test_a_replaced_document_is_found_by_its_new_text_only_and_a_removed_one_not_at_all(notes: Folder) -> None:
    notes.put("plan.md", "# Plan\n\nBefore: marzipan.\n")
    until(lambda: notes.paths("search_documents", query="marzipan"))
    notes.put("plan.md", "# Plan\n\nAfterwards: nougat.\n")
    until(lambda: notes.paths("search_documents", query="nougat"))
    until(lambda: not notes.paths("search_documents", query="marzipan"))
    notes.remove("plan.md")
    until(lambda: not notes.paths("search_documents", query="nougat"))


def test_what_can_never_be_ingested_is_put_aside_at_once_and_the_log_says_why(deployment: Deployment) -> None:
    key = f"uploads/{uuid.uuid4().hex}.md"
    deployment.aws("s3").put_object(Bucket=deployment.outputs["Bucket"], Key=key, Body=b"whose?")
    sqs = deployment.aws("sqs")
    wanted = {"QueueUrl": sqs.get_queue_url(QueueName=ASIDE)["QueueUrl"], "MessageAttributeNames": ["All"]}
    [message] = until(lambda: sqs.receive_message(**wanted).get("Messages"))
    assert key in message["Body"]
    assert message["MessageAttributes"]["reason"]["StringValue"].startswith("BAD_UPLOAD_KEY: ")
    lines = [json.loads(line) for line in deployment.log(INGEST) if "upload failed" in line]
    [reason] = [line["reason"] for line in lines if key in line["reason"]]
    assert "names no owner. Upload it below uploads/TENANT/SUBJECT/" in reason
