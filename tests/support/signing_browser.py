"""A browser for tests: it signs in with a key, and allows what is asked."""

import httpx2

from tests.support.oauth_person import Person


async def visit(key: str, url: str) -> None:
    """Go there, do what the pages ask, and bring the answer to whoever waits for it."""
    person = Person(key)
    await person.visit(url)
    async with httpx2.AsyncClient() as browser:
        assert (await browser.get(person.ended)).status_code == 200
