"""A repair of where LocalStack puts what functions write."""

from localstack.services.lambda_.invocation.execution_environment import ExecutionEnvironment


def use_configured_log_groups() -> None:
    """LocalStack keeps a function's LoggingConfig and goes by its name all the same."""
    by_name = ExecutionEnvironment.get_log_group_name

    def configured(self: ExecutionEnvironment) -> str:
        return self.function_version.config.logging_config.get("LogGroup") or by_name(self)

    ExecutionEnvironment.get_log_group_name = configured
