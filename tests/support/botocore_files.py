"""botocore reads what describes the services once in a process, instead of once for each session: 50 ms for S3."""

from functools import cache

from botocore.loaders import JSONFileLoader, Loader


def read_once() -> None:
    """Let all sessions of this process share what was read, and which services there are."""
    read = cache(JSONFileLoader().load_file)

    def load_file(_: JSONFileLoader, path: str) -> object:
        return read(path)

    listed = cache(Loader().list_available_services)

    def list_available_services(_: Loader, type_name: str) -> object:
        return listed(type_name)

    JSONFileLoader.load_file = load_file  # pyright: ignore[reportAttributeAccessIssue]
    Loader.list_available_services = list_available_services  # pyright: ignore[reportAttributeAccessIssue]
