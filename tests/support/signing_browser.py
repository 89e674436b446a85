"""A browser for tests, as `BROWSER` names it: `python -m tests.support.signing_browser KEY URL` signs in and allows."""

import asyncio
import sys

import httpx2

from tests.support.oauth_person import Person


async def visit(key: str, url: str) -> None:
    """Go there, do what the pages ask, and bring the answer to whoever waits for it."""
    person = Person(key)
    await person.visit(url)
    async with httpx2.AsyncClient() as browser:
        assert (await browser.get(person.ended)).status_code == 200


if __name__ == "__main__":
    asyncio.run(visit(*sys.argv[1:]))
