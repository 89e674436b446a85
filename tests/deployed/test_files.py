"""Files in the deployed product: a text in a call, and a text sent with a form that S3 checks."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.deployed.deployment import Deployment, Door
from tests.deployed.smoke import send
from tests.deployed.users import NewUser, User
from tests.support.polling import until
from tests.support.serving import call

pytestmark = pytest.mark.aws
HERONS = "# Herons\n\nThe heron waits at the weir.\n"


@dataclass(frozen=True, slots=True)
class Lake:
    """An owner's files, and their way to them."""

    door: Door
    user: User

    def ask(self, tool: str, **arguments: object) -> Any:
        """What the tool answers."""
        result = self.door.post(call(tool, arguments), self.user.headers).message()["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    def found(self, words: str) -> list[str]:
        """The names of the files that a search finds."""
        return [one["name"] for one in self.ask("search_memory", parsed_query=words)["result"]["results"]]

    def send(self, name: str, content: bytes, announced: int) -> int:
        """Send the bytes with a form for so many; the status that S3 answers."""
        return send(self.ask("add_memory", name=name, upload_bytes=announced)["upload"], content)


@pytest.fixture
def lake(deployment: Deployment, new_user: NewUser) -> Lake:
    return Lake(deployment.door("REST API"), new_user())


def test_a_text_is_found_in_the_same_turn(lake: Lake) -> None:
    [added] = lake.ask("add_memory", name="trip.md", text="The ferry to Anholt sails at noon.\n")["result"]
    assert added["status"] == "okay"
    assert lake.found("ferry to Anholt") == ["trip.md"]


def test_what_is_sent_with_a_form_is_found_once_the_ingestion_has_read_it(lake: Lake, new_user: NewUser) -> None:
    assert lake.send("herons.md", HERONS.encode(), len(HERONS)) == 204
    until(lambda: lake.found("heron") == ["herons.md"])
    assert Lake(lake.door, new_user()).found("heron") == []


def test_s3_refuses_more_than_was_announced(lake: Lake) -> None:
    assert lake.send("herons.md", HERONS.encode(), 5) == 400


def test_without_a_reader_a_workbook_is_refused_with_a_reason(lake: Lake) -> None:
    lake.ask("add_memory", name="prices.csv", text="fruit,price\nquince,3\n")

    def newest() -> Any:
        [file] = lake.ask("ingestion_status")["result"]
        return file if file["status"] == "error" else None

    assert "this deployment has none" in json.dumps(until(newest))
