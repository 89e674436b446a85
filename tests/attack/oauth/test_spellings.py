"""Redirects that one reader takes for another address than the next: each has one spelling, and one port may differ."""

import html
import json

from tests.attack.oauth.flow import Flow, error, parameters, shown
from tests.support.each import each


@each(
    "redirect",
    [
        *(
            "https://b\u00fccher.test/cb",
            "https://\u2460.test/cb",
            "https://client\u3002test/cb",
            "http://\u24dbocalhost/cb",
        ),
        *("https://a:b@client.test/cb", "https://@client.test/cb", "https://client.test%2f@evil.test/cb"),
        *("https://client.test\\@evil.test/cb", "https://client.test/cb#", "https://client%2etest/cb"),
        *("https:client.test/cb", "https:/client.test/cb", "https:///client.test/cb", " https://client.test/cb"),
        *("https://client.test/a/../cb", "https://client.test/a/%2e%2e/cb", "https://client.test/\u00fc"),
        *(
            "https://client..test/cb",
            "https://client.test:99999/cb",
            "https://[fe80::1%25eth0]/cb",
            "HTTP://client.test/",
        ),
        *("http://localhost./cb", "http://127.1/cb", "http://0x7f.1/cb", "http://2130706433/cb", "http://127.0.0.2/cb"),
        *("http://0.0.0.0/cb", "http://[::ffff:127.0.0.1]/cb", "http://loc\talhost/cb", "localhost:8080/cb"),
        *("java\tscript:alert(1)", "view-source:https://client.test/", "ms-msdt:/id"),
        *(
            "https://client.test/cb?code=x",
            "https://client.test/cb?iss=https://evil.test",
            "https://client.test/cb?state",
        ),
    ],
)
def test_a_redirect_that_could_be_read_in_two_ways_is_not_registered(flow: Flow, redirect: str) -> None:
    answer = flow.register(redirect)
    assert answer.status == 400
    assert error(answer) in ("invalid_redirect_uri", "invalid_client_metadata")


@each(
    ("redirect", "leads_to"),
    [
        ("https://Client.TEST/cb", "https://client.test/cb?"),
        ("https://client.test", "https://client.test/?"),
        ("https://client.test:443/cb", "https://client.test/cb?"),
        ("https://xn--bcher-kva.test/cb", "https://xn--bcher-kva.test/cb?"),
        ("https://client.test./cb", "https://client.test./cb?"),
        ("http://localhost:1234", "http://localhost:1234/?"),
        ("http://[::1]:1234/cb", "http://[::1]:1234/cb?"),
        ("com.example.app:/cb", "com.example.app:/cb?"),
        ("CURSOR://x/cb", "cursor://x/cb?"),
    ],
)
def test_who_names_a_redirect_as_it_was_registered_gets_a_token(
    flow: Flow, ann: str, redirect: str, leads_to: str
) -> None:
    client = json.loads(flow.register(redirect).body)["client_id"]
    cookie, wish = flow.cookie(ann), flow.wish(client, redirect_uri=redirect)
    away = flow.decide(wish, cookie, flow.form(wish, cookie), "files:read").header("location") or ""
    assert away.startswith(leads_to)
    assert flow.exchange(client, parameters(away)["code"], redirect_uri=redirect).status == 200


@each(
    ("registered", "asked"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:5/cb#"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:5/cb?"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:5/a/../cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:5\\cb"),
        ("http://127.0.0.1/cb", "http://127.1:5/cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:65536/cb"),
        ("http://127.0.0.1/cb", "http://[::1]:5/cb"),
        ("http://localhost/cb", "http://localhost.:5/cb"),
        ("http://localhost/cb", "http://user@localhost:5/cb"),
        ("http://localhost/cb", "http://loc\talhost:5/cb"),
        ("http://[::1]/cb", "http://[0:0:0:0:0:0:0:1]:5/cb"),
        ("https://client.test/cb", "https://client.test/a/../cb"),
        ("https://client.test/cb", "https:client.test/cb"),
        ("https://client.test/cb", "https://client%2etest/cb"),
        ("https://client.test/cb", "\nhttps://client.test/cb"),
    ],
)
def test_nothing_else_is_the_same_redirect(flow: Flow, registered: str, asked: str) -> None:
    assert shown(flow.authorize(flow.client(registered), redirect_uri=asked)) == "invalid_request"


@each("name", ["</b><script>alert(1)</script>", "\u202eedualC", "a\nIt comes from claude.ai", "\U000e0041\u200b"])
def test_no_name_is_more_than_a_name(flow: Flow, ann: str, name: str) -> None:
    client = json.loads(flow.register("https://client.test/cb", client_name=name).body)["client_id"]
    page = flow.page(flow.wish(client, redirect_uri=None), flow.cookie(ann)).body.decode()
    told = html.unescape(page.partition("<p><b>")[2].partition("</b>")[0])
    assert "<script>alert" not in page
    assert told.isprintable()
    assert len(told) <= 100
