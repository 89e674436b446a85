"""The alarms of a stage."""

from collections.abc import Iterator, Sequence

from aws_cdk import Stack
from aws_cdk.aws_cloudwatch import Alarm, ComparisonOperator, IMetric, MathExpression, TreatMissingData

from infra import metrics, runs, workflow_runs
from infra.defaults import in_template
from infra.stage import Stage
from infra.uploads import aside_name, queue_name

ERRORS = 5  # in five minutes: one may be a client that went away, and what failed is retried
THROTTLES = 10  # in five minutes, three times: what is throttled is retried
LASTING = 3
LOW_STORAGE = 0.2
FULL_MEMORY = 95  # percent of the heap
MB_PER_GB = 1024
LONGEST_WAIT_S = 3600
TABLE_OPERATIONS = ("GetItem", "BatchGetItem", "PutItem", "DeleteItem", "Query")
RUN_OPERATIONS = ("PutItem", "UpdateItem", "DeleteItem", "Query")


def all_of(stack: Stack, stage: Stage, table: str, run_rows: str) -> Iterator[Alarm]:
    """Create every alarm of the stage. A few are those that tell of an answer or a document that was lost.

    One event raises an alarm only if something is lost with it. Each alarm says what to do.
    """
    failures = metrics.of_api(stage, "5XXError")
    yield _above(stack, "ApiErrors", failures, ERRORS, "The API answers with 5xx: read the log of gateway")
    if stage.searches:
        yield _aside(stack, stage)
    yield _cancelled(stack, stage)
    if stage.alarms == "few":
        return
    for name in stage.functions:
        yield from _function(stack, stage, name)
    slowed = metrics.of_machine(workflow_runs.machine_arn(stack, stage), "ExecutionThrottled")
    what = "Step Functions slows workflows down: ask for more state transitions (Service Quotas, AWS Step Functions)"
    yield _above(stack, "WorkflowsThrottled", slowed, THROTTLES, what, LASTING)
    if stage.searches:
        yield _waiting(stack, stage)
    if stage.sandbox:
        failed = metrics.of_queue(runs.failed_name(stage), "ApproximateNumberOfMessagesVisible", "Maximum")
        what = "Runs of code were lost: the queue has their ids, and the log of errand says why. Then purge the queue"
        yield _above(stack, "ErrandsFailed", failed, 1, what)
        refused = _throttles(run_rows, RUN_OPERATIONS)
        what = "Runs of code write more than their table takes: if it lasts, raise its limits in infra/run_stores.py"
        yield _above(stack, "RunTableThrottles", refused, THROTTLES, what, LASTING)
    refused = _throttles(table, TABLE_OPERATIONS)
    what = "DynamoDB refuses requests: its capacity grows within half an hour. If it does not, lower throttle.rate"
    yield _above(stack, "TableThrottles", refused, THROTTLES, what, LASTING)
    if stage.search == "domain":
        yield from _domain(stack, stage)


def _function(stack: Stack, stage: Stage, name: str) -> Iterator[Alarm]:
    called, errors = in_template(name), metrics.of_function(stage, name, "Errors")
    if name == "rotate":  # once a month, so each failure counts
        what = "The signing secret was not renewed: read the log of rotate, then rotate it by hand"
        yield _above(stack, f"{called}Errors", errors, 1, what)
        return
    throttles = metrics.of_function(stage, name, "Throttles")
    what = f"Lambda refuses to run {name}: raise its reserved_concurrency, or the quota of the account"
    yield _above(stack, f"{called}Throttles", throttles, THROTTLES, what, LASTING)
    if name in stage.isolated:
        return  # its time and its failures depend on the callers' code and files
    yield _above(stack, f"{called}Errors", errors, ERRORS, f"The function {name} fails: read its log")
    slowest = metrics.of_function(stage, name, "Duration", "Maximum")
    what = f"Calls of {name} are close to its timeout: find them in its log, or raise its memory_mb or timeout_s"
    yield _above(stack, f"{called}Duration", slowest, stage.slow_s(name) * 1000, what, LASTING)


def _cancelled(stack: Stack, stage: Stage) -> Alarm:
    failed = metrics.of_machine(workflow_runs.machine_arn(stack, stage), "ExecutionsFailed")
    what = "Loci gave workflows up: the log of workflow says why. Their owners may retry them (pml_continue)"
    return _above(stack, "WorkflowsFailed", failed, 1, what)


def _aside(stack: Stack, stage: Stage) -> Alarm:
    aside = metrics.of_queue(aside_name(stage), "ApproximateNumberOfMessagesVisible", "Maximum")
    what = "Uploads could not be ingested: the log of ingest says why. Correct them, upload them again, purge the queue"
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
    blocked = metrics.of_domain(stage, "ClusterIndexWritesBlocked", "Maximum")
    what = "OpenSearch takes no writes, so nothing is indexed: raise opensearch.volume_gb or opensearch.instance"
    yield _above(stack, "SearchWrites", blocked, 1, what)
    heap = metrics.of_domain(stage, "JVMMemoryPressure", "Maximum")
    what = "OpenSearch runs out of memory: choose a larger opensearch.instance"
    yield _above(stack, "SearchMemory", heap, FULL_MEMORY, what, LASTING)
    low = stage.opensearch.volume_gb * MB_PER_GB * LOW_STORAGE
    free = metrics.of_domain(stage, "FreeStorageSpace", "Minimum")
    below = ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD
    yield _alarm(stack, "SearchStorage", free, low, "OpenSearch is running out of storage: raise volume_gb", 1, below)


def _above(stack: Stack, id: str, metric: IMetric, threshold: float, what: str, periods: int = 1) -> Alarm:
    at_least = ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
    return _alarm(stack, id, metric, threshold, what, periods, at_least)


def _alarm(
    stack: Stack, id: str, metric: IMetric, threshold: float, what: str, periods: int, comparison: ComparisonOperator
) -> Alarm:
    return Alarm(
        stack,
        id,
        metric=metric,
        threshold=threshold,
        comparison_operator=comparison,
        evaluation_periods=periods,
        alarm_description=what,
        treat_missing_data=TreatMissingData.NOT_BREACHING,  # there were no requests
    )
