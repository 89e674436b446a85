"""Somebody who looks at the page of files, with a key."""

import json
from typing import Any

from loci.app import App
from loci.core.identity import Owner
from tests.attack.doors import Door
from tests.attack.wire import Answer, Ask
from tests.support.forms import form_token

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
HOST = ("Host", "loci.test")


class Visitor:
    """Somebody with a key. `is_person`: with one of their own, which no client has."""

    def __init__(self, app: App, door: Door, owner: Owner, *, is_person: bool = False) -> None:
        self.door = door
        self.shown: tuple[tuple[str, str], ...] = (
            HOST,
            ("Authorization", f"Bearer {app.api_keys.create(owner, 'test', is_person=is_person)[1]}"),
        )

    def get(self, target: str) -> Answer:
        return self.door.ask(Ask(b"", self.shown, "GET", target))

    def json(self, target: str) -> Any:
        answer = self.get(f"/ui/files{target}")
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    def announce(self, name: str, bytes: int, *more: tuple[str, str]) -> Answer:
        return self.changed("", json.dumps({"name": name, "bytes": bytes}).encode(), *more)

    def changed(self, target: str, body: bytes = b"{}", *more: tuple[str, str]) -> Answer:
        """The answer to a change that the page asks for, with its token."""
        form = ("X-Loci-Form", form_token(self.get("/ui/files").body))
        return self.door.ask(Ask(body, (*self.shown, form, *more), "POST", f"/ui/files{target}"))
