"""botocore reads what describes the services once in a process, instead of once for each session: 50 ms for S3.

What it works out for each session anew takes as long: other names of events, and which handlers take any arguments.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from botocore import hooks
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
    _events_once(cast("Any", hooks))


def _events_once(hooks: Any) -> None:
    alias = cache(hooks.EventAliaser(None)._alias_event_name)
    accepts = hooks.accepts_kwargs

    def alias_event_name(_: object, name: str) -> str:
        return alias(name)

    def accepts_kwargs(handler: Callable[..., object]) -> object:
        code = getattr(getattr(handler, "__func__", handler), "__code__", None)
        return bool(code.co_flags & inspect.CO_VARKEYWORDS) if code else accepts(handler)

    hooks.EventAliaser._alias_event_name = alias_event_name
    hooks.accepts_kwargs = accepts_kwargs
