"""What LocalStack calls to run functions, in place of its own executor, which needs Docker."""

import logging
import os
import time

from localstack import config
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from bare_host.environment import Environment, InitFailed, Invocation
from bare_host.program import archives, program_of

LOG = logging.getLogger(__name__)
INHERITED = ("PATH", "LANG", "HOME", "TMPDIR")


class ChildExecutor(RuntimeExecutor):
    """Runs one version of a function in one environment after the other."""

    _environment: Environment | None = None
    _variables: dict[str, str]

    def start(self, env_vars: dict[str, str]) -> None:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        # What LocalStack hands over has numbers in it, whatever its types say.
        given = {name: str(value) for name, value in env_vars.items()}
        self._variables = {**inherited, "PYTHONUNBUFFERED": "1", **given}
        self._environment = self._begin()

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        environment = self._environment
        if environment is None or environment.has_ended:  # the last invocation killed it: a cold start, as on AWS
            environment = self._environment = self._begin()
        id, began = payload["invoke-id"], time.monotonic()
        answer = environment.invoke(
            Invocation(
                id=id,
                function=payload["invoked-function-arn"],
                trace=payload["trace-id"],
                payload=payload["payload"],
                seconds=self.function_version.config.timeout,
            )
        )
        logs = (
            f"START RequestId: {id} Version: {self.function_version.id.qualifier}\n"
            f"{environment.output()}"
            f"END RequestId: {id}\n"
            f"REPORT RequestId: {id}\tDuration: {(time.monotonic() - began) * 1000:.2f} ms\n"
        )
        return InvocationResult(id, answer.body, is_error=answer.is_error, logs=logs)

    def stop(self) -> None:
        if self._environment is not None:
            self._environment.kill()

    def get_logs(self) -> str:
        return "" if self._environment is None else self._environment.output()

    def get_address(self) -> str:
        return "127.0.0.1"

    def get_endpoint_from_executor(self) -> str:
        return self.get_address()

    def get_runtime_endpoint(self) -> str:
        return self.get_address()

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        """Unpack the function and its layers, each once, however many functions share it."""
        for archive in archives(function_version):
            archive.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        """Nothing: the folder of the run goes with the run."""

    def _begin(self) -> Environment:
        try:
            return Environment(
                program_of(self.function_version), self._variables, config.LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT
            )
        except InitFailed as failure:
            LOG.warning("%s did not start: %s", self.function_version.id.function_name, failure)
            raise StatusErrorException("the environment did not start", payload=failure.body) from failure


class ChildExecutorPlugin(RuntimeExecutorPlugin):
    """Chosen with LAMBDA_RUNTIME_EXECUTOR=child."""

    name = "child"

    def load(self, *_: object, **__: object) -> type[RuntimeExecutor]:
        return ChildExecutor
