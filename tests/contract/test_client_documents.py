"""Documents that describe clients: read, checked and kept, on each record store."""

import json
from dataclasses import dataclass, field
from unicodedata import normalize

import pytest

from loci.auth.oauth_clients import (
    DOCUMENT_SECONDS,
    FRESH_SECONDS,
    HOUR,
    LARGEST,
    MOST_OF_ADDRESS,
    OAuthClient,
    OAuthClients,
    TooManyPrograms,
    check_id,
    client_in,
)
from loci.core.errors import Refused, Unavailable
from loci.core.stores import RecordStore
from tests.contract.stores import Clock, on_moto_too
from tests.support.each import each

ID = "https://client.test/oauth/client.json"
REDIRECT = "https://client.test/callback"
GOOD = {"client_id": ID, "client_name": "A client", "redirect_uris": [REDIRECT]}
FROM = "192.0.2.1"


@dataclass
class Web:
    """What is at the addresses of documents."""

    told: dict[str, object] = field(default_factory=lambda: dict[str, object](GOOD))
    is_down: bool = False
    asked: list[str] = field(default_factory=list[str])

    def read(self, url: str) -> bytes:
        self.asked.append(url)
        if self.is_down:
            raise Unavailable("client.test does not answer", "Try again")
        return json.dumps({**self.told, "client_id": url}).encode()


@pytest.fixture
def web() -> Web:
    return Web()


@dataclass
class Documents:
    """Clients that documents describe."""

    clients: OAuthClients

    def get(self, id: str) -> OAuthClient:
        found = self.clients.get(id, FROM)
        assert found is not None
        return found


@pytest.fixture
def documents(records: RecordStore, clock: Clock, web: Web) -> Documents:
    return Documents(OAuthClients(records, web.read, clock))


@on_moto_too
def test_a_document_says_what_a_client_is(documents: Documents) -> None:
    client = documents.get(ID)
    assert (client.id, client.name, client.redirects, client.home) == (ID, "A client", (REDIRECT,), "client.test")
    assert documents.clients.get(ID) == client


@on_moto_too
def test_a_document_is_read_again_when_it_is_old(documents: Documents, web: Web, clock: Clock) -> None:
    documents.get(ID)
    web.told["client_name"] = "Another name"
    clock.now += FRESH_SECONDS - 1
    assert documents.get(ID).name == "A client"
    clock.now += 1
    assert documents.get(ID).name == "Another name"
    assert len(web.asked) == 2


@on_moto_too
def test_a_host_that_is_down_takes_no_client_away_for_a_day(documents: Documents, web: Web, clock: Clock) -> None:
    documents.get(ID)
    web.is_down = True
    clock.now += DOCUMENT_SECONDS - 1
    assert documents.get(ID).name == "A client"
    clock.now += 2
    with pytest.raises(Refused, match="does not answer"):
        documents.get(ID)
    assert documents.clients.get(ID) is None
    assert len(web.asked) == 3  # the first, one while there is a copy, one without


@on_moto_too
def test_a_document_that_is_good_no_more_takes_its_client_away(documents: Documents, web: Web, clock: Clock) -> None:
    documents.get(ID)
    web.told["redirect_uris"] = []
    clock.now += FRESH_SECONDS
    for _ in range(2):
        with pytest.raises(Refused, match="redirect"):
            documents.get(ID)
    assert documents.clients.get(ID) is None


@on_moto_too
def test_an_address_has_only_so_many_documents_read(documents: Documents, web: Web) -> None:
    for number in range(MOST_OF_ADDRESS):
        documents.get(f"{ID}?{number}")
    with pytest.raises(TooManyPrograms):
        documents.get(f"{ID}?more")
    assert len(web.asked) == MOST_OF_ADDRESS
    assert documents.get(f"{ID}?0").name == "A client"


@on_moto_too
def test_a_flood_stops_no_client_that_is_known(documents: Documents, web: Web, clock: Clock) -> None:
    clock.now -= clock.now % HOUR
    documents.get(ID)
    clock.now += HOUR
    for number in range(MOST_OF_ADDRESS):
        documents.get(f"{ID}?{number}")
    with pytest.raises(TooManyPrograms):
        documents.get(f"{ID}?more")
    web.told["client_name"] = "Another name"
    assert documents.get(ID).name == "Another name"
    web.is_down = True
    clock.now += HOUR
    assert [documents.get(ID).name for _ in range(2)] == ["Another name"] * 2
    assert web.asked.count(ID) == 3


def test_a_document_may_spell_its_redirects_in_capitals() -> None:
    told = {**GOOD, "redirect_uris": ["https://Client.test", "http://localhost:80/cb", "com.example.app:/cb"]}
    redirects = client_in(ID, json.dumps(told).encode()).redirects
    assert redirects == ("https://client.test/", "http://localhost/cb", "com.example.app:/cb")


@each(
    "id",
    [
        "http://client.test/client.json",
        "https://client.test",
        "https://client.test/",
        "https://client.test/client.json#part",
        "https://ann:secret@client.test/client.json",
        "https://client.test/a/../client.json",
        "https://client.test/a/%2e%2E/client.json",
        "https://client.test/./client.json",
        "https:///client.json",
        "https://CLIENT test/client.json",
        "https://client.test;x/client.json",
        "https://[::1/client.json",
        "https://client.test:x/client.json",
        "https://client.test/\u202eclient.json",
        f"https://client.test/{'x' * 500}",
    ],
)
def test_an_id_that_is_no_plain_address_is_not_read(id: str) -> None:
    with pytest.raises(Refused):
        check_id(id)


def changed(**told: object) -> bytes:
    return json.dumps({**GOOD, **told}).encode()


@each(
    "text",
    [
        b"",
        b"\xff",
        b"[]",
        b"[" * 100_000,
        b"null",
        changed(client_id="https://evil.test/client.json"),
        changed(client_id=f"{ID}/"),
        changed(client_id=5),
        changed(redirect_uris=[]),
        changed(redirect_uris="https://client.test/callback"),
        changed(redirect_uris=[5]),
        changed(redirect_uris=[REDIRECT] * 11),
        changed(redirect_uris=["javascript:alert(1)"]),
        changed(redirect_uris=["http://client.test/callback"]),
        changed(token_endpoint_auth_method="client_secret_post"),
        changed(token_endpoint_auth_method="private_key_jwt"),
        changed(client_name="x" * LARGEST),
    ],
)
def test_a_document_that_is_not_the_clients_own_is_refused(text: bytes) -> None:
    with pytest.raises(Refused):
        client_in(ID, text)


@each("name", [None, "", 5, ["A"], {"a": 1}])
def test_a_client_has_a_name_whatever_its_document_says(name: object) -> None:
    assert client_in(ID, changed(client_name=name)).name


@each(
    ("name", "shown"),
    [
        ("\u3164\u115f\u2800\uffa0", "A program without a name"),
        ("\ufe0f\u0301 \u0301\U000e0101", "A program without a name"),
        ("Cl\u3164aude", "Cl aude"),
        ("Z" + "\u0354" * 60 + "algo", "Z\u0354\u0354algo"),
        ("Việt Nâm, שָׁלוֹם, ที่นี่, हिन्दी", "Việt Nâm, שָׁלוֹם, ที่นี่, हिन्दी"),
    ],
)
def test_a_name_can_be_seen_and_covers_nothing(name: str, shown: str) -> None:
    assert client_in(ID, changed(client_name=name)).name == normalize("NFC", shown)
