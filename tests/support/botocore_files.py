"""botocore reads the description of a service once in a process, instead of once for each session: 50 ms for S3."""

from functools import cache

from botocore.loaders import JSONFileLoader


def read_once() -> None:
    """Let all sessions of this process share what was read."""
    read = cache(JSONFileLoader().load_file)

    def load_file(_: JSONFileLoader, path: str) -> object:
        return read(path)

    JSONFileLoader.load_file = load_file  # pyright: ignore[reportAttributeAccessIssue]
