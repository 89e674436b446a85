"""A client without a key, through LocalStack's REST API: from discovery to revocation, below the path of a stage."""

from urllib.parse import urlsplit

import httpx2
import pytest

from tests.deployed.deployment import Deployment
from tests.deployed.users import NewUser
from tests.support.oauth_client import Program
from tests.support.oauth_person import Person

pytestmark = [pytest.mark.aws, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class ToDeployment(httpx2.AsyncHTTPTransport):
    """Finds the API without a DNS, by its name in the outputs."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__(trust_env=False)
        self._host = urlsplit(deployment.outputs["Endpoint"]).netloc
        self._server = httpx2.URL(deployment.server.url)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert request.url.netloc.decode() == self._host, request.url
        path = f"/_aws/execute-api/{self._host.partition('.')[0]}".encode() + request.url.raw_path
        url = self._server.copy_with(raw_path=path)
        headers = [pair for pair in request.headers.raw if pair[0].lower() != b"host"]
        sent = httpx2.Request(request.method, url, headers=headers, content=await request.aread())
        answer = await super().handle_async_request(sent)
        await answer.aread()
        # Behind CloudFront the challenge has its own name: `tests/infra/test_viewer_request.py`.
        renamed = answer.headers.pop("x-amzn-Remapped-WWW-Authenticate", None)
        if renamed is not None:
            answer.headers["WWW-Authenticate"] = renamed
        return answer


async def test_a_client_comes_in_calls_renews_and_ends(deployment: Deployment, new_user: NewUser) -> None:
    transport = ToDeployment(deployment)
    key = new_user().key
    program = Program(deployment.outputs["Endpoint"], Person(key, transport=transport), transport)
    async with program.connected() as client:
        answer = await client.call_tool("scratchpad_list", {})
    assert not answer.is_error
    assert len(program.person.pages) == 1
    renewed = (await program.renewed(program.kept.renews)).json()
    assert (await program.lists(renewed["access_token"])).status_code == 200
    await program.posted("/revoke", token=renewed["refresh_token"], client_id=program.kept.id)
    assert (await program.lists(renewed["access_token"])).status_code == 401


async def test_no_answer_may_be_kept(deployment: Deployment) -> None:
    base = deployment.outputs["Endpoint"].removesuffix("/mcp")
    async with httpx2.AsyncClient(transport=ToDeployment(deployment), timeout=30) as http:
        resource = "/.well-known/oauth-protected-resource/mcp"
        for path in (resource, "/.well-known/openid-configuration", "/authorize", "/ui/sign-in"):
            assert "no-store" in (await http.get(base + path)).headers["cache-control"]
        for path in ("/token", "/mcp"):
            assert "no-store" in (await http.post(base + path)).headers["cache-control"]
