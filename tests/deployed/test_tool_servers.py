"""Tool servers of a deployment: configured on the command line, reached by their own function, and only public ones."""

from pathlib import Path
from typing import Any

import pytest

from tests.deployed.deployment import GATEWAY, Deployment
from tests.deployed.users import NewUser, User
from tests.support.serving import call, loci, piped

pytestmark = pytest.mark.aws

TOKEN = "t0p-s3cret-t0ken"
INSIDE = "https://localhost:8443/mcp"


@pytest.fixture
def user(new_user: NewUser) -> User:
    return new_user()


@pytest.fixture
def run(deployment: Deployment, user: User, tmp_path: Path) -> Any:
    """`loci tools` for that user."""
    whose = ("--stack", GATEWAY, "--tenant", user.owner.tenant, "--subject", user.owner.subject)

    def run(*arguments: str, given: str | None = None) -> Any:
        command = ("tools", arguments[0], *whose, *arguments[1:])
        if given is None:
            return loci(tmp_path, *command, **deployment.server.environment())
        return piped(tmp_path, given, *command, **deployment.server.environment())

    return run


def test_a_name_that_leads_inside_is_refused_by_the_function(deployment: Deployment, user: User, run: Any) -> None:
    stored = run("secret", "NOTES_TOKEN", given=TOKEN)
    assert stored.returncode == 0, stored.stderr
    added = run(
        "add", "notes", INSIDE, "--header", "Authorization: Bearer ${NOTES_TOKEN}", "--header", f"X-Key: {TOKEN}"
    )
    assert (added.returncode, "its address is not public" in added.stdout) == (1, True), added
    answer = deployment.door("REST API").post(call("notes:read", {}), user.headers).message()["result"]
    error = answer["_meta"]["loci/error"]
    assert (answer["isError"], error["code"]) == (True, "MCP_SERVER_ERROR")
    assert "its address is not public" in error["message"]
    rows = deployment.aws("dynamodb").scan(TableName=deployment.outputs["Table"])["Items"]
    mine = [row for row in rows if row["pk"]["S"].startswith(user.owner.key)]
    assert {row["pk"]["S"].partition("#")[2] for row in mine} >= {"tool_server", "tool_secret", "listed_tools"}
    assert TOKEN not in str(mine)


def test_a_search_has_a_server_asked_that_nobody_has_asked(deployment: Deployment, user: User, run: Any) -> None:
    assert run("add", "notes", INSIDE).returncode == 1
    search = call("pml_search_tools", {"query": "read notes"})
    told = deployment.door("REST API").post(search, user.headers).message()["result"]["structuredContent"]
    assert "notes" in told["message"]


def test_programs_are_refused_with_the_reason(run: Any) -> None:
    refused = run("add", "shop", "--", "npx", "server")
    assert (refused.returncode, "Loci starts no programs on AWS" in refused.stderr) == (1, True)
    assert "no tool servers" in run("list").stdout
