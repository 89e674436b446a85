"""The metrics that the dashboard shows and the alarms watch, by the names of the resources."""

from aws_cdk import Aws, Duration
from aws_cdk.aws_cloudwatch import Metric

from infra import search
from infra.stage import Stage

PERIOD = Duration.minutes(5)


def of_function(stage: Stage, name: str, metric: str, statistic: str = "Sum") -> Metric:
    """Return a metric of the function."""
    return _metric("AWS/Lambda", metric, statistic, {"FunctionName": stage.function_name(name)})


def of_calls(stage: Stage, metric: str, statistic: str = "Sum") -> Metric:
    """Return one of Loci's own metrics, of all tool calls of the stage: one for each tool would cost too much."""
    return _metric("Loci", metric, statistic, {"service": stage.prefix})


def of_api(stage: Stage, metric: str, statistic: str = "Sum") -> Metric:
    """Return a metric of the REST API."""
    return _metric("AWS/ApiGateway", metric, statistic, {"ApiName": stage.prefix, "Stage": stage.name})


def of_table(table: str, metric: str, operation: str | None = None) -> Metric:
    """Return a metric of the table, of one operation if the metric is counted by operation."""
    by_operation = {"Operation": operation} if operation else {}
    return _metric("AWS/DynamoDB", metric, "Sum", {"TableName": table, **by_operation})


def of_queue(queue: str, metric: str, statistic: str) -> Metric:
    """Return a metric of the queue."""
    return _metric("AWS/SQS", metric, statistic, {"QueueName": queue})


def of_machine(arn: str, metric: str, statistic: str = "Sum") -> Metric:
    """Return a metric of the state machine."""
    return _metric("AWS/States", metric, statistic, {"StateMachineArn": arn})


def of_domain(stage: Stage, metric: str, statistic: str) -> Metric:
    """Return a metric of the OpenSearch domain."""
    return _metric("AWS/ES", metric, statistic, {"DomainName": search.name(stage), "ClientId": Aws.ACCOUNT_ID})


def _metric(namespace: str, metric: str, statistic: str, dimensions: dict[str, str]) -> Metric:
    return Metric(
        namespace=namespace, metric_name=metric, statistic=statistic, dimensions_map=dimensions, period=PERIOD
    )
