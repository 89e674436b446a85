"""For all tests: the real model, how they are shared out, and the last lines of a run."""

import signal

from tests.servers.reporting import pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown
from tests.support import preloaded
from tests.support.minilm import minilm
from tests.support.schemas_once import schemas_once
from tests.support.sharing import (
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_configure_node,
    pytest_unconfigure,
    pytest_xdist_make_scheduler,
)

schemas_once()
preloaded.is_used = True

# A shell has a job in the background ignore Ctrl-C, and every process that it starts would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = [
    "minilm",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
    "pytest_unconfigure",
    "pytest_xdist_make_scheduler",
]
