"""What a page of another site can make a browser ask, without a credential or with one of its own."""

from tests.attack.doors import Door, UvicornDoor
from tests.attack.wire import Ask
from tests.support.each import each

HOME = (("Host", "127.0.0.1"), ("Accept", "*/*"))
ROUTES = (
    "/ui/health/findings",
    "/ui/search/documents?q=plan",
    "/ui/tools/tool?id=notes:read",
    "/ui/files",
    "/events",
    "/transfer",
    "/documents?under=notes",
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
