"""The dashboard of a stage."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk.aws_cloudwatch import Dashboard, GraphWidget, IMetric, IWidget

from infra import metrics, workflow_runs
from infra.stage import Stage
from infra.uploads import aside_name, queue_name

WIDTH = 12  # of 24 columns: two graphs a row


def dashboard(stack: Stack, stage: Stage, table: str) -> None:
    """Create the dashboard: the API, Loci's own metrics of its calls, the functions, the table and the search."""
    rows = [_api(stage), _calls(stage), *(_function(stage, name) for name in stage.functions), _table(table)]
    rows.append(_workflows(stack, stage))
    if stage.searches:
        rows.append(_uploads(stage))
    if stage.search == "domain":
        rows.append(_domain(stage))
    # The name of a dashboard is unique in an account, across regions.
    Dashboard(stack, "Dashboard", dashboard_name=f"{stage.prefix}-{stack.region}", widgets=rows)


def _api(stage: Stage) -> list[IWidget]:
    requests = [metrics.of_api(stage, metric) for metric in ("Count", "4XXError", "5XXError")]
    latency = [metrics.of_api(stage, "Latency", statistic) for statistic in ("p50", "p95", "p99")]
    return [_graph("API: requests", requests), _graph("API: latency (ms)", latency)]


def _calls(stage: Stage) -> list[IWidget]:
    durations = [metrics.of_calls(stage, "Duration", statistic) for statistic in ("p50", "p95", "Maximum")]
    # Each call has a duration, so their number needs no metric of its own.
    counts = [metrics.of_calls(stage, "Duration", "SampleCount"), metrics.of_calls(stage, "Errors")]
    return [_graph("Tool calls: duration (ms)", durations), _graph("Tool calls: number and errors", counts)]


def _function(stage: Stage, name: str) -> list[IWidget]:
    counts = [metrics.of_function(stage, name, metric) for metric in ("Invocations", "Errors", "Throttles")]
    durations = [metrics.of_function(stage, name, "Duration", statistic) for statistic in ("p50", "p95", "Maximum")]
    concurrent = metrics.of_function(stage, name, "ConcurrentExecutions", "Maximum")
    return [
        _graph(f"{name}: calls and concurrency", [*counts, concurrent]),
        _graph(f"{name}: duration (ms)", durations),
    ]


def _table(table: str) -> list[IWidget]:
    ways = ("Read", "Write")
    capacity = [metrics.of_table(table, f"Consumed{way}CapacityUnits") for way in ways]
    throttles = [metrics.of_table(table, f"{way}ThrottleEvents") for way in ways]
    return [_graph("Table: consumed capacity", capacity), _graph("Table: throttles", throttles)]


def _workflows(stack: Stack, stage: Stage) -> list[IWidget]:
    arn = workflow_runs.machine_arn(stack, stage)
    counts = [metrics.of_machine(arn, f"Executions{how}") for how in ("Started", "Succeeded", "Failed")]
    time = [metrics.of_machine(arn, "ExecutionTime", statistic) for statistic in ("p50", "p95", "Maximum")]
    return [_graph("Workflows: executions", counts), _graph("Workflows: time with pauses (ms)", time)]


def _uploads(stage: Stage) -> list[IWidget]:
    counts = ("ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible")
    waiting = [metrics.of_queue(queue_name(stage), metric, "Maximum") for metric in counts]
    aside = metrics.of_queue(aside_name(stage), counts[0], "Maximum")
    age = metrics.of_queue(queue_name(stage), "ApproximateAgeOfOldestMessage", "Maximum")
    return [_graph("Uploads: waiting, in progress, put aside", [*waiting, aside]), _graph("Uploads: oldest (s)", [age])]


def _domain(stage: Stage) -> list[IWidget]:
    health = [metrics.of_domain(stage, f"ClusterStatus.{colour}", "Maximum") for colour in ("green", "yellow", "red")]
    load = [metrics.of_domain(stage, metric, "Maximum") for metric in ("CPUUtilization", "JVMMemoryPressure")]
    return [_graph("Search: health", health), _graph("Search: load (%)", load)]


def _graph(title: str, lines: Sequence[IMetric]) -> IWidget:
    return GraphWidget(title=title, left=lines, width=WIDTH)
