"""Files that come in by the page: where it sends them, and what it refuses."""

import json

import pytest

from loci.app import App
from loci.compose import build_app
from loci.mcp.http.application import asgi
from loci.web.browser_auth import LARGEST_FORM
from tests.attack.doors import Door, lambda_doors
from tests.attack.wire import Ask
from tests.support.each import each
from tests.support.files.sheets import workbook
from tests.surface.files.visitors import ANN, HOST, Visitor

on_aws = pytest.mark.parametrize("app", ["vectors"], indirect=True)
OWN = ("Origin", "http://loci.test")


def test_a_file_of_the_page_is_sent_where_the_answer_says(door: Door, ann: Visitor) -> None:
    ticket = json.loads(ann.announce("trip.md", 6, OWN).body)
    assert (ticket["method"], ticket["url"][:9]) == ("PUT", "../files/")
    sent = door.ask(Ask(b"# Trip", (HOST, OWN), "PUT", ticket["url"].removeprefix("..")))
    assert (sent.status, json.loads(sent.body)["status"]) == (200, "okay")
    assert [one["name"] for one in ann.json("/list")["rows"]] == ["trip.md"]


def test_another_page_sends_no_file_even_if_it_knows_the_url(door: Door, ann: Visitor) -> None:
    ticket = json.loads(ann.announce("trip.md", 6).body)
    foreign = (HOST, ("Origin", "https://evil.test"))
    assert door.ask(Ask(b"# Trip", foreign, "PUT", ticket["url"].removeprefix(".."))).status == 403


@on_aws
def test_on_aws_the_page_sends_a_form_to_the_bucket_which_its_policy_allows(app: App) -> None:
    queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/ingest"
    with_queue = build_app(
        app.settings.model_copy(update={"aws": app.settings.aws.model_copy(update={"ingest_queue": queue})})
    )
    with lambda_doors(asgi(with_queue)) as (rest, _):
        ann = Visitor(with_queue, rest, ANN)
        ticket = json.loads(ann.announce("trip.md", 6).body)
        policy = str(ann.get("/ui/files").header("content-security-policy"))
    assert ticket["method"] == "POST"
    assert ticket["fields"]["key"].endswith("/trip.md")
    assert f"connect-src 'self' {ticket['url'].rstrip('/')};" in policy


@on_aws
def test_a_deployment_that_reads_no_files_says_that_it_takes_none(ann: Visitor) -> None:
    answer = ann.announce("trip.md", 6)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "NO_UPLOADS")
    assert b'"uploads":false' in ann.get("/ui/files").body


@each(
    "header",
    [
        ("Origin", "https://evil.test"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ],
)
def test_another_page_announces_no_file(ann: Visitor, header: tuple[str, str]) -> None:
    assert ann.announce("trip.md", 6, header).status == 403


@each(("name", "bytes", "code"), [("", 1, "BAD_FILE"), ("a", 0, "BAD_FILE"), ("a\nb", 1, "BAD_NAME")])
def test_what_is_no_file_is_refused(ann: Visitor, name: str, bytes: int, code: str) -> None:
    answer = ann.announce(name, bytes)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, code)


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(app: App, ann: Visitor) -> None:
    answer = ann.announce("large.pdf", (app.settings.file_mb << 20) + 1)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "FILE_TOO_LARGE")


def test_an_announcement_has_16_kib_at_most(ann: Visitor) -> None:
    assert ann.announce("x" * LARGEST_FORM, 1).status == 413


def test_the_tables_of_a_workbook_are_told_with_their_cells(app: App, ann: Visitor) -> None:
    costs = {"Costs": [["Month", "Cost"], ["May", 12], ["June", 13]]}
    id = app.files.add(ANN, "costs.xlsx", workbook(costs), wait=None).id
    [table] = ann.json(f"/{id}/tables")["tables"]
    assert (table["locator"]["label"], table["columns"], table["rows"]) == ("Costs!A1:B3", ["Month", "Cost"], 2)
    [passage] = ann.json(f"/{id}/passages")["passages"]
    assert passage["locator"]["is_table"]
