"""For all tests: which run, how they are shared out, what they may leave behind, and the last lines of a run."""

import signal

from hypothesis import HealthCheck, settings

from tests.support import preloaded
from tests.support.schemas_once import schemas_once

pytest_plugins = [
    "tests.servers.reporting",
    "tests.support.circles",
    "tests.support.leaks",
    "tests.support.minilm",
    "tests.support.sharing",
    "tests.support.thread_errors",
]

schemas_once()
preloaded.is_used = True

# A slow machine is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# A shell has a job in the background ignore Ctrl-C, and every process that it starts would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
