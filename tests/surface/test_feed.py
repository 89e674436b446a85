"""`/documents` on both runtimes, through the handler that Lambda calls."""

import base64
import hashlib
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL, Owner
from loci.documents.ingest import uploads as feeding
from loci.documents.ingest.index_writer import COLLECTION
from loci.mcp.http.application import asgi
from loci.mcp.http.body import LARGEST
from tests.attack.doors import lambda_doors
from tests.attack.wire import Answer, Ask
from tests.support.each import each
from tests.support.moto_aws import BUCKET
from tests.surface.runtimes import RUNTIMES

ANN = Owner("acme", "ann")

Feed = Callable[..., Answer]


@pytest.fixture
def feed(app: App) -> Generator[Feed]:
    """Asks with the key of the person at this machine, or of another owner."""
    keys = {owner: app.api_keys.create(owner, "test")[1] for owner in (LOCAL, ANN)}
    with lambda_doors(asgi(app)) as (rest, _):

        def ask(query: str = "", *, owner: Owner = LOCAL, **batch: object) -> Answer:
            headers = (
                ("Host", "api.example.com"),
                ("Content-Type", "application/json"),
                ("Authorization", f"Bearer {keys[owner]}"),
            )
            body = json.dumps(batch).encode() if batch else b""
            return rest.ask(Ask(body, headers, "POST" if batch else "GET", f"/documents{query}"))

        yield ask


def results(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.body
    return json.loads(answer.body)["results"]


def listed(answer: Answer) -> dict[str, str]:
    assert answer.status == 200, answer.body
    return {one["path"]: one["sha256"] for one in json.loads(answer.body)["documents"]}


def sha(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
def test_what_is_sent_is_listed_by_its_hash_and_kept_to_the_byte(app: App, feed: Feed) -> None:
    odd = b"caf\xe9"
    put = [{"path": "notes/a.md", "text": "# A\r\n"}, {"path": "notes/b.md", "base64": base64.b64encode(odd).decode()}]
    assert [one["done"] for one in results(feed(put=put))] == [True, True]
    assert listed(feed("?under=notes")) == {"notes/a.md": sha(b"# A\r\n"), "notes/b.md": sha(odd)}
    assert app.documents.parts.library.read(LOCAL, "notes-a").sha256 == sha(b"# A\r\n")


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
def test_what_is_removed_is_listed_no_more_and_may_be_removed_twice(feed: Feed) -> None:
    results(feed(put=[{"path": "notes/a.md", "text": "one"}]))
    for _ in range(2):
        assert results(feed(remove=["notes/a.md"])) == [{"path": "notes/a.md", "done": True}]
    assert listed(feed("?under=notes")) == {}


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
def test_nobody_sees_or_removes_what_is_another_owners(feed: Feed) -> None:
    results(feed(put=[{"path": "notes/a.md", "text": "one"}]))
    assert listed(feed("?under=notes", owner=ANN)) == {}
    results(feed(remove=["notes/a.md"], owner=ANN))
    assert listed(feed("?under=notes")).keys() == {"notes/a.md"}


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
def test_what_the_index_has_lost_is_asked_for_again(app: App, feed: Feed) -> None:
    put = [{"path": f"notes/{name}.md", "text": name} for name in ("a", "b")]
    results(feed(put=put))
    app.documents.parts.index.remove(LOCAL, COLLECTION, "notes-a")
    assert listed(feed("?under=notes")) == {"notes/a.md": "", "notes/b.md": sha(b"b")}
    results(feed(put=put))
    assert listed(feed("?under=notes")) == {"notes/a.md": sha(b"a"), "notes/b.md": sha(b"b")}
    assert app.documents.parts.index.documents(LOCAL, COLLECTION).keys() == {"notes-a", "notes-b"}


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
def test_the_list_comes_in_pages(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeding, "PAGE", 3)
    texts = [{"path": f"{'notes' if number % 2 else 'other'}/{number}.md", "text": "x"} for number in range(10)]
    results(feed(put=texts))
    found: list[str] = []
    after = ""
    while after is not None:
        page = json.loads(feed(f"?under=notes{f'&after={after}' if after else ''}").body)
        found += [one["path"] for one in page["documents"]]
        after = page["next"]
    assert sorted(found) == [f"notes/{number}.md" for number in range(1, 10, 2)]


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
def test_one_that_is_refused_does_not_keep_the_others_out(feed: Feed) -> None:
    first, second, third = results(
        feed(put=[{"path": "../a.md", "text": "x"}, {"path": "a.md", "text": "x"}, {"path": "a.py", "text": "x"}])
    )
    assert (first["error"]["code"], second["done"], third["error"]["code"]) == ("BAD_PATH", True, "BAD_PATH")
    assert not first["later"]


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
def test_files_of_this_machine_are_neither_listed_nor_replaced(app: App, feed: Feed, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("one")
    app.documents.parts.ingest.run(LOCAL, [str(tmp_path / "notes")])
    [one] = results(feed(put=[{"path": "notes/a.md", "text": "two"}]))
    assert (one["error"]["code"], listed(feed("?under=notes"))) == ("PATH_TAKEN", {})
    results(feed(remove=["notes/a.md"]))
    assert app.documents.parts.library.get(LOCAL, "notes-a")


@pytest.mark.parametrize("app", ["aws"], indirect=True)
def test_where_it_cannot_be_indexed_now_it_is_to_be_sent_again(feed: Feed) -> None:
    [one] = results(feed(put=[{"path": "notes/a.md", "text": "one"}]))
    assert (one["done"], one["later"]) == (False, True)
    assert listed(feed("?under=notes")) == {"notes/a.md": ""}


@pytest.mark.parametrize(
    ("app", "uploads"), [("aws", f"s3://{BUCKET}/uploads/acme/ann/"), ("embedded", None)], indirect=["app"]
)
def test_the_list_says_how_much_goes_over_the_wire_and_where_else_it_can_go(feed: Feed, uploads: str | None) -> None:
    page = json.loads(feed("?under=notes", owner=ANN).body)
    assert (page["largest"], page["uploads"]) == (LARGEST, uploads)


@each(
    "batch",
    [
        {"put": [{"path": "a.md"}]},
        {"put": [{"path": "a.md", "text": "x", "base64": "eA=="}]},
        {"put": [{"path": "a.md", "base64": "?"}]},
        {"put": [{"path": "a.md", "text": "\ud800"}]},
        {"put": [{"path": "", "text": "x"}]},
        {"put": "a.md"},
        {"remove": [1]},
        {"remove": ["a.md"] * 501},
        {"whose": "bob"},
    ],
)
@pytest.mark.parametrize("app", ["embedded"], indirect=True)
def test_what_is_no_batch_is_refused_as_a_whole(feed: Feed, batch: dict[str, object]) -> None:
    answer = feed(**batch)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "BAD_REQUEST")


@each("query", ["", "?under=", "?under=/"])
@pytest.mark.parametrize("app", ["embedded"], indirect=True)
def test_a_list_is_of_one_name(feed: Feed, query: str) -> None:
    assert feed(query).status == 400
