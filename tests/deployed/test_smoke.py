"""`make smoke`, against a deployment that runs no code and reads only plain texts. `test_code.py` has one with code."""

import anyio
import pytest

from tests.deployed.deployment import Deployment
from tests.deployed.smoke import walk
from tests.deployed.test_files import Lake
from tests.deployed.users import NewUser

pytestmark = [pytest.mark.aws, pytest.mark.smoke]


def test_a_deployment_passes_and_says_what_it_lacks(deployment: Deployment, new_user: NewUser) -> None:
    door, user = deployment.door("REST API"), new_user()
    steps = anyio.run(walk, f"{door.url}/mcp", user.key)
    assert steps == {
        **dict.fromkeys(("document", "file", "plan", "person", "session", "end"), "ok"),
        **dict.fromkeys(("table", "Python", "TypeScript"), "SKIPPED"),
    }
    owners = Lake(door, user)
    assert owners.ask("list_directory_structure")["result"] == []
    assert owners.ask("get_memorylake_metadata")["result"]["total_files"] == 0
