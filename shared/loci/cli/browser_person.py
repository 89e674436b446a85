"""The person at this machine, who signs in for `loci doctor --url --browser`."""

from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

from loci.cli.login_callback import LoginCallback
from loci.cli.tool_login import show_address


class BrowserPerson:
    """Whoever sits here, with a browser that comes back to this machine."""

    def __enter__(self) -> Self:
        self._callback = LoginCallback(None).__enter__()
        self.redirect = self._callback.url
        return self

    def __exit__(self, *_: object) -> None:
        self._callback.__exit__(None, None, None)

    def visit(self, url: str, state: str) -> Mapping[str, str]:
        """Show the address, open it, and wait for the answer."""
        self._callback.expect(lambda fields: fields.get("state") == state)
        show_address(url, urlsplit(url).netloc, opens=True)
        answer = self._callback.answer()
        return {} if isinstance(answer, str) else answer
