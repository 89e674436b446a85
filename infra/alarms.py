"""The alarms of a stage."""

from collections.abc import Iterator, Sequence

from aws_cdk import Stack
from aws_cdk.aws_cloudwatch import Alarm, ComparisonOperator, IMetric, MathExpression, TreatMissingData

from infra import metrics, runs, workflow_runs
from infra.defaults import in_template
from infra.stage import Stage
from infra.uploads import aside_name, queue_name

API_ERRORS = 5  # in five minutes: one may be a client that went away
LOW_STORAGE = 0.2
MB_PER_GB = 1024
LONGEST_WAIT_S = 3600
TABLE_OPERATIONS = ("GetItem", "BatchGetItem", "PutItem", "DeleteItem", "Query")
RUN_OPERATIONS = ("PutItem", "UpdateItem", "DeleteItem", "Query")


def all_of(stack: Stack, stage: Stage, table: str, run_rows: str) -> Iterator[Alarm]:
    """Create every alarm of the stage. A few are those that tell of an answer or a document that was lost."""
    failures = metrics.of_api(stage, "5XXError")
    yield _above(stack, "ApiErrors", failures, API_ERRORS, "The API answers with 5xx")
    if stage.searches:
        yield _aside(stack, stage)
    yield _cancelled(stack, stage)
    if stage.alarms == "few":
        return
    for name in stage.functions:
        yield from _function(stack, stage, name)
    if stage.searches:
        yield _waiting(stack, stage)
    if stage.sandbox:
        failed = metrics.of_queue(runs.failed_name(stage), "ApproximateNumberOfMessagesVisible", "Maximum")
        what = "Runs of code failed before they ended: the queue has their ids, and the log of errand says why"
        yield _above(stack, "ErrandsFailed", failed, 1, what)
        refused = _throttles(run_rows, RUN_OPERATIONS)
        what = "DynamoDB slows runs of code: together they have reached the limits of their table"
        yield _above(stack, "RunTableThrottles", refused, 1, what)
    refused = _throttles(table, TABLE_OPERATIONS)
    yield _above(stack, "TableThrottles", refused, 1, "DynamoDB refuses requests: the load grows too fast")
    if stage.search == "domain":
        yield from _domain(stack, stage)


def _function(stack: Stack, stage: Stage, name: str) -> Iterator[Alarm]:
    called = in_template(name)
    throttles = metrics.of_function(stage, name, "Throttles")
    yield _above(stack, f"{called}Throttles", throttles, 1, f"Lambda refuses to run {name}: raise its concurrency")
    if name in stage.isolated:
        return  # its time and its failures depend on the callers' code and files
    what = "The signing secret was not renewed" if name == "rotate" else f"The function {name} fails"
    yield _above(stack, f"{called}Errors", metrics.of_function(stage, name, "Errors"), 1, what)
    slowest = metrics.of_function(stage, name, "Duration", "Maximum")
    near = stage.slow_s(name) * 1000
    yield _above(stack, f"{called}Duration", slowest, near, f"The function {name} is close to its timeout")


def _cancelled(stack: Stack, stage: Stage) -> Alarm:
    failed = metrics.of_machine(workflow_runs.machine_arn(stack, stage), "ExecutionsFailed")
    what = "Loci gave workflows up: their records have the status error, and the log of workflow says why"
    return _above(stack, "WorkflowsFailed", failed, 1, what)


def _aside(stack: Stack, stage: Stage) -> Alarm:
    aside = metrics.of_queue(aside_name(stage), "ApproximateNumberOfMessagesVisible", "Maximum")
    what = "Uploads could not be ingested: the log of ingest says which ones and why"
    return _above(stack, "UploadsAside", aside, 1, what)


def _waiting(stack: Stack, stage: Stage) -> Alarm:
    age = metrics.of_queue(queue_name(stage), "ApproximateAgeOfOldestMessage", "Maximum")
    return _above(stack, "UploadsWaiting", age, LONGEST_WAIT_S, "Uploads have waited for an hour: raise ingest.at_once")


def _throttles(table: str, operations: Sequence[str]) -> MathExpression:
    by_operation = [metrics.of_table(table, "ThrottledRequests", operation) for operation in operations]
    using: dict[str, IMetric] = {f"m{index}": metric for index, metric in enumerate(by_operation)}
    return MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in using),
        using_metrics=using,
        label="Throttled requests",
        period=metrics.PERIOD,
    )


def _domain(stack: Stack, stage: Stage) -> Iterator[Alarm]:
    red = metrics.of_domain(stage, "ClusterStatus.red", "Maximum")
    yield _above(stack, "SearchRed", red, 1, "OpenSearch has lost a primary shard: when it is whole, run loci reindex")
    low = stage.opensearch.volume_gb * MB_PER_GB * LOW_STORAGE
    free = metrics.of_domain(stage, "FreeStorageSpace", "Minimum")
    below = ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD
    yield _alarm(stack, "SearchStorage", free, low, "OpenSearch is running out of storage: raise volume_gb", below)


def _above(stack: Stack, id: str, metric: IMetric, threshold: float, what: str) -> Alarm:
    at_least = ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
    return _alarm(stack, id, metric, threshold, what, at_least)


def _alarm(
    stack: Stack, id: str, metric: IMetric, threshold: float, what: str, comparison: ComparisonOperator
) -> Alarm:
    return Alarm(
        stack,
        id,
        metric=metric,
        threshold=threshold,
        comparison_operator=comparison,
        evaluation_periods=1,
        alarm_description=what,
        treat_missing_data=TreatMissingData.NOT_BREACHING,  # there were no requests
    )
