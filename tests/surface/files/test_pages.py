"""The page of files: the JSON that it asks for, who gets it, and how files come in by it."""

import json
from urllib.parse import quote, unquote, urlencode

import pytest

from loci.app import App
from loci.web import file_routes
from tests.attack.doors import Door
from tests.attack.wire import Ask
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.visitors import ANN, HOST, Visitor


def add(app: App, name: str, text: str) -> str:
    return app.files.add(ANN, name, text.encode()).id


def test_the_list_says_what_each_file_is_and_how_far_it_was_read(app: App, ann: Visitor) -> None:
    add(app, "boat.md", "# Boats\n\nThe first")
    id = add(app, "boat.md", "# Boats\n\nThe second boat")
    [row] = ann.json("/list")["rows"]
    assert row.pop("added").endswith("Z")
    assert row == {
        "id": id,
        "name": "boat.md",
        "format": "md",
        "bytes": len("# Boats\n\nThe second boat"),
        "versions": 2,
        "status": "okay",
        "reason": None,
        "left_out": "",
        "chunks": 1,
        "tables": 0,
        "pages": None,
        "sheets": 0,
    }


def test_a_file_that_cannot_be_read_is_listed_with_the_reason(app: App, ann: Visitor) -> None:
    add(app, "empty.txt", " ")
    [row] = ann.json("/list")["rows"]
    assert row["status"] == "error"
    assert "The file is empty" in row["reason"]


def test_the_list_has_as_many_rows_as_are_asked_for(app: App, ann: Visitor) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        add(app, name, "words")
    some, every = ann.json("/list?most=2"), ann.json("/list?most=3")
    assert (some["total"], len(some["rows"])) == (3, 2)
    assert {one["name"] for one in every["rows"]} == {"a.txt", "b.txt", "c.txt"}
    assert ann.json(f"/list?most=3&seen={every['tag']}")["same"] is True


def test_a_file_is_told_with_its_summary_and_versions(app: App, ann: Visitor) -> None:
    add(app, "boat.md", "# Boats\n\nThe first")
    id = add(app, "boat.md", "# Boats\n\nThe second")
    facts = ann.json(f"/{id}")
    assert (facts["name"], facts["summary"], facts["found_version"]) == ("boat.md", "Boats: The second", 2)
    assert [one["version"] for one in facts["history"]] == [1, 2]


def test_the_passages_of_a_file_come_in_order_with_their_places(
    app: App, ann: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_routes, "PASSAGES", 2)
    sections = [f"# Part {number}\n\n{f'Sentence {number} is here. ' * 60}" for number in range(4)]
    id = add(app, "parts.md", "\n\n".join(sections))
    total = ann.json(f"/{id}/passages")["total"]
    assert total > 3
    whole = [one for first in range(0, total, 2) for one in ann.json(f"/{id}/passages?from={first}")["passages"]]
    assert [one["chunk_id"] for one in whole] == [f"{id}#{number}" for number in range(total)]
    assert whole[0]["heading"] == ["Part 0"]
    assert whole[-1]["locator"]["label"].startswith("line")
    assert "Sentence 3" in whole[-1]["text"]


def test_the_passages_of_an_older_version_are_there(app: App, ann: Visitor) -> None:
    id = add(app, "boat.md", "The first boat")
    add(app, "boat.md", "The second boat")
    [now] = ann.json(f"/{id}/passages")["passages"]
    [past] = ann.json(f"/{id}/passages?version=1")["passages"]
    assert (now["text"], past["text"], past["chunk_id"]) == ("The second boat", "The first boat", f"{id}@1#0")
    assert ann.get(f"/ui/files/{id}/passages?version=7").status == 404


@on_vectors_too
def test_a_file_is_read_again_and_deleted_by_its_owner_only(app: App, ann: Visitor, bob: Visitor) -> None:
    id = add(app, "empty.txt", " ")
    for what in ("retry", "delete"):
        assert bob.changed(f"/{id}/{what}").status == 404
    row = json.loads(ann.changed(f"/{id}/retry").body)
    assert (row["id"], row["status"]) in ((id, "pending"), (id, "running"), (id, "error"))
    assert json.loads(ann.changed(f"/{id}/delete").body) == {"id": id}
    assert ann.json("/list")["rows"] == []


@on_vectors_too
def test_the_download_has_the_content_and_the_name(app: App, door: Door, ann: Visitor) -> None:
    id = add(app, "grüße <b>.md", "# Hello")
    answer = ann.get(f"/ui/files/{id}/content")
    where = str(answer.header("location"))
    assert answer.status == 303
    if app.settings.mode == "aws":
        assert where.startswith("https://loci-test") or ".s3." in where
        assert "grüße <b>.md" in unquote(unquote(where))
        return
    assert where.startswith("../../../blobs/")
    download = door.ask(Ask(b"", (HOST,), "GET", where.removeprefix("../../..")))
    assert download.body == b"# Hello"
    assert download.header("content-disposition") == f"attachment; filename*=UTF-8''{quote('grüße <b>.md', safe='')}"


def test_nobody_sees_another_owner_s_files(app: App, ann: Visitor, bob: Visitor) -> None:
    id = add(app, "secret.md", "The secret boat")
    assert (bob.json("/list")["rows"], bob.json("/list")["total"]) == ([], 0)
    for target in (id, f"{id}/passages", f"{id}/tables", f"{id}/content"):
        assert bob.get(f"/ui/files/{target}").status == 404, target
    assert b"secret" not in bob.get("/ui/files").body


def test_without_a_credential_nothing_is_told(app: App, door: Door) -> None:
    id = add(app, "secret.md", "The secret boat")
    for target in ("", "/list", f"/{id}", f"/{id}/passages", f"/{id}/tables", f"/{id}/content"):
        answer = door.ask(Ask(b"", (HOST,), "GET", f"/ui/files{target}"))
        assert answer.status == 401, target
        assert b"secret" not in answer.body
    assert door.ask(Ask(b'{"name": "a.md", "bytes": 1}', (HOST,), "POST", "/ui/files")).status == 401


def test_who_signs_in_for_the_files_comes_to_them(app: App, door: Door) -> None:
    key = app.api_keys.create(ANN, "browser")[1]
    add(app, "boat.md", "The boat")
    page = (HOST, ("Accept", "text/html"))
    sent = door.ask(Ask(b"", page, "GET", "/ui/files"))
    assert (sent.status, sent.header("location")) == (303, "sign-in?to=files")
    form = door.ask(Ask(b"", page, "GET", "/ui/sign-in?to=files"))
    assert b'action="sign-in?to=files"' in form.body
    typed = (*page, ("Content-Type", "application/x-www-form-urlencoded"))
    signed = door.ask(Ask(urlencode({"key": key}).encode(), typed, "POST", "/ui/sign-in?to=files"))
    assert (signed.status, signed.header("location")) == (303, "files")
    cookie = ("Cookie", str(signed.header("set-cookie")).partition(";")[0])
    assert b"boat.md" in door.ask(Ask(b"", (*page, cookie), "GET", "/ui/files")).body


def test_a_sign_in_leads_to_pages_of_loci_only(door: Door) -> None:
    form = door.ask(Ask(b"", (HOST,), "GET", "/ui/sign-in?to=https://evil.test"))
    assert b'action="sign-in?to=home"' in form.body


def test_the_page_runs_its_own_program_only_and_holds_names_as_text(app: App, ann: Visitor) -> None:
    add(app, "</script><script>alert(1)<b>.md".replace("/", ""), "<img src=x onerror=alert(1)>")
    answer = ann.get("/ui/files")
    policy = str(answer.header("content-security-policy"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert b"<script>alert" not in answer.body
    assert answer.header("x-frame-options") == "DENY"
