"""A browser for these tests; where none is here they are skipped, and the run says what to install."""

from collections.abc import Generator

import pytest

from tests.support.browser import MISSING, Browser, browsing, chromium


@pytest.fixture(scope="session")
def chrome() -> Generator[Browser]:
    if chromium() is None:
        pytest.skip(MISSING)
    with browsing() as one:
        yield one


@pytest.fixture
def browser(chrome: Browser) -> Browser:
    """The browser, as if nobody had used it before."""
    chrome.forget()
    return chrome
