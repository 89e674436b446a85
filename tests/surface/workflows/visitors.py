"""Owners who come over HTTP with a key, and what their tools did."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from mcp_types import CLIENT_CAPABILITIES_META_KEY

from loci.app import App
from loci.core.identity import Owner
from tests.attack.doors import UvicornDoor
from tests.attack.wire import Answer, Ask, modern
from tests.support.forms import IN_FORM, form_token
from tests.surface.workflows.conftest import Flow, task

OURS = (("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin"))
HOSTILE = {"value": "</pre><script>alert(1)</script>"}


class Visitor:
    """Somebody with a key of their own of that name, and the journal of what their tools did."""

    def __init__(self, door: UvicornDoor, app: App, owner: Owner, journal: Path, key: str = "test") -> None:
        self.flow = Flow(app, journal)
        self._forms = dict[str, str]()
        self.door = door
        self._shown = (
            ("Host", "loci.test"),
            ("Authorization", f"Bearer {app.api_keys.create(owner, key, is_person=True)[1]}"),
        )

    def ask(
        self, method: str, params: dict[str, Any], *, can: dict[str, Any] | None = None, name: str | None = None
    ) -> dict[str, Any]:
        """The message that answers. `can`: what the client declares; `name`: of the header `Mcp-Name`."""
        ask = modern(method, params)
        if can:
            message = json.loads(ask.body)
            message["params"]["_meta"][CLIENT_CAPABILITIES_META_KEY] = can
            ask = replace(ask, body=json.dumps(message).encode())
        kept = [one for one in ask.headers if one[0].lower() not in ("host", "authorization")]
        named = [("Mcp-Name", name)] if name else []
        answer = self.door.ask(replace(ask, headers=(*self._shown, *kept, *named)))
        found = re.findall(rb"^(?:data: )?(\{.*\})\s*$", answer.body, re.MULTILINE)
        assert found, answer
        return json.loads(found[-1])

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structure of the tool's answer."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]["structuredContent"]

    def form(self, link: str) -> str:
        """The token of the page, as it was when they opened it first."""
        return self._forms.get(link) or self._forms.setdefault(link, form_token(self.get(link).body, IN_FORM))

    def send(self, method: str, link: str, *more: tuple[str, str], body: bytes = b"") -> Answer:
        return self.door.ask(Ask(body, (*self._shown, *more), method, target(link)))

    def get(self, link: str) -> Answer:
        return self.send("GET", link)

    def post(self, link: str, *more: tuple[str, str], **fields: str) -> Answer:
        headers = (*self._shown, *(more or OURS))
        body = urlencode({"form": self.form(link), **fields}).encode()
        return self.door.ask(Ask(body, headers, "POST", target(link)))

    def asked(self, **more: str) -> dict[str, Any]:
        """A workflow that waits for a person."""
        deploy = task("t1", "deploy", **HOSTILE) | {"approve": "human", **more}
        return self.call("pml_execute_dag", {"workflow": {"tasks": [deploy]}})


def target(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"
