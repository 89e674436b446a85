"""What must hold before LocalStack serves: loopback only, no look-ups, and an end with whoever started it."""

import functools
import os
import sys
import threading

from localstack.runtime import hooks
from localstack.utils.aws import aws_stack
from twisted.internet import endpoints

from bare_host.environment import kill_all
from bare_host.logs import use_configured_log_groups
from bare_host.stepfunctions import wake_stopped_executions


@hooks.on_infra_start()
def on_start() -> None:
    # LocalStack runs any code it is sent, and would listen on all interfaces whatever GATEWAY_LISTEN says.
    endpoints.TCP4ServerEndpoint = functools.partial(endpoints.TCP4ServerEndpoint, interface="127.0.0.1")
    aws_stack.CACHE_S3_HOSTNAME_DNS_STATUS = False  # else the first use of S3 asks the DNS for s3.localhost
    use_configured_log_groups()
    wake_stopped_executions()
    if not sys.stdin.closed and not os.isatty(0):
        threading.Thread(target=_end_with_standard_input, daemon=True).start()


def _end_with_standard_input() -> None:
    """The system closes it when whoever holds the other end is gone, however that happened."""
    while os.read(0, 1024):
        pass
    on_end()


@hooks.on_infra_shutdown(priority=1000)
def on_end() -> None:
    """Before all else, and at once: nothing outlives a run, and LocalStack's own way takes 10 s and more."""
    kill_all()
    os._exit(0)
