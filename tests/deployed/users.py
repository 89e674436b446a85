"""Who uses the deployed gateway: owners with keys, made by the command line."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loci.core.identity import Owner
from tests.deployed.deployment import GATEWAY
from tests.servers.localstack.running import LocalStack
from tests.support.serving import loci


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a key."""

    owner: Owner
    key_id: str
    headers: dict[str, str]

    @property
    def key(self) -> str:
        return self.headers["Authorization"].removeprefix("Bearer ")


NewUser = Callable[[], User]


def new_user(server: LocalStack, folder: Path, stack: str = GATEWAY) -> User:
    """An owner whom nobody has seen before."""
    owner = Owner("acme", uuid.uuid4().hex[:8])
    made = keys(server, folder, "create", "test", "--tenant", owner.tenant, "--subject", owner.subject, stack=stack)
    return User(owner, made["id"], {"Authorization": f"Bearer {made['key']}"})


def keys(server: LocalStack, folder: Path, command: str, *arguments: str, stack: str = GATEWAY) -> dict[str, Any]:
    """What `loci keys` says of a key of the deployment."""
    done = loci(folder, "keys", command, *arguments, "--stack", stack, "--json", **server.environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
