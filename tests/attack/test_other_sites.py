"""What a page of another site can make a browser ask, without a credential or with one of its own."""

from tests.attack.doors import Door, UvicornDoor
from tests.attack.malformed import PING
from tests.attack.wire import Ask, legacy
from tests.support.each import each

HOME = (("Host", "127.0.0.1"), ("Accept", "*/*"))
ROUTES = (
    "/ui/settings/health",
    "/ui/search/results?q=plan",
    "/ui/tools/tool?id=notes:read",
    "/ui/files",
    "/events",
    "/log",
    "/transfer",
    "/documents?under=notes",
    "/hooks",
)


def browser(mode: str, dest: str, site: str = "cross-site") -> tuple[tuple[str, str], ...]:
    return (("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest))


@each("target", ROUTES)
@each(
    "told",
    [
        browser("no-cors", "image"),
        browser("no-cors", "script"),
        browser("no-cors", "empty", "same-site"),
        browser("navigate", "iframe"),
        browser("navigate", "embed"),
    ],
)
def test_no_part_of_a_foreign_page_is_answered(
    at_home: UvicornDoor, target: str, told: tuple[tuple[str, str], ...]
) -> None:
    """The local person needs no key: else any page could have Loci work, and measure how long it takes."""
    assert at_home.ask(Ask(b"", (*HOME, *told), "GET", target)).status == 403


@each("target", ["/transfer", "/documents?under=notes", "/events", "/log", "/mcp"])
@each("site", ["cross-site", "same-site"])
def test_a_link_leads_to_pages_only(at_home: UvicornDoor, target: str, site: str) -> None:
    assert at_home.ask(Ask(b"", (*HOME, *browser("navigate", "document", site)), "GET", target)).status == 403


@each("origin", ["http://127.0.0.1:6274", "http://localhost", "http://[::1]", "http://127.0.0.1.evil.test", "null", ""])
@each("target", ["/mcp", *ROUTES, "/files/x", "/ui/tools/ask"])
def test_a_page_of_another_port_is_another_site(at_home: UvicornDoor, target: str, origin: str) -> None:
    """The page of any program on this machine could call else, and so could what a person only looks at."""
    told = (("Origin", origin), *browser("cors", "empty", "same-site"))
    writes = {"/mcp": "POST", "/transfer": "POST", "/files/x": "PUT", "/ui/tools/ask": "POST", "/hooks": "POST"}
    for method in {"GET", "OPTIONS", writes.get(target, "GET")}:
        for headers in (told, told[:1]):  # not every browser says more than the origin
            answer = at_home.ask(Ask(b"{}", (*HOME, *headers), method, target))
            assert (answer.status, answer.header("access-control-allow-origin")) == (403, None), (method, headers)


@each("host", ["127.0.0.1", "127.0.0.1:8765", "localhost:8765", "[::1]:8765"])
def test_the_page_of_loci_itself_may_call(at_home: UvicornDoor, host: str) -> None:
    own = legacy(PING).having("Host", host).having("Origin", f"http://{host}")
    assert at_home.ask(own).status == 200
    # The name of another host is no page of Loci's, though both are the same: rebound, it leads here.
    assert at_home.ask(own.having("Host", "evil.test").having("Origin", "http://evil.test")).status == 421


@each("told", [browser("navigate", "document"), browser("no-cors", "image", "same-origin"), ()])
def test_a_person_who_follows_a_link_is_answered(at_home: UvicornDoor, told: tuple[tuple[str, str], ...]) -> None:
    assert at_home.ask(Ask(b"", (*HOME, *told), "GET", "/ui/files")).status == 200


@each("site", ["cross-site", "same-site"])
def test_a_link_of_another_site_signs_nobody_in(door: Door, bob: str, site: str) -> None:
    """Whoever follows it would put their files where somebody else reads them."""
    ask = Ask(b"", (("Host", "loci.test"), ("Accept", "text/html")), "GET", f"/ui/files?apikey={bob}")
    assert door.ask(ask).status == 200
    led = Ask(b"", (*ask.headers, *browser("navigate", "document", site)), "GET", ask.target)
    assert door.ask(led).status == 403
