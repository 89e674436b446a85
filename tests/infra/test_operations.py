"""Somebody is told when it goes wrong or gets dear."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infra.costs import ASSUMED, Deployed, idle
from loci.core.telemetry import Telemetry
from tests.e2e.test_lambda import HANDLER, OPEN, PROGRAM, asks
from tests.infra.conftest import FolderOf, Synthesised, of_each_stage
from tests.infra.synthesis import Stacks, assembly
from tests.infra.template import listed
from tests.support.api_events import event
from tests.support.each import each
from tests.support.functions import loaded
from tests.support.moto_aws import credentials
from tests.support.serving import PATIENCE, call, clean_environment

TOOLS = Path(__file__).resolve().parents[1] / "surface" / "tools.json"
ALARM = "AWS::CloudWatch::Alarm"
BILLED = (
    *("AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::SQS::Queue"),
    *("AWS::SecretsManager::Secret", "AWS::OpenSearchService::Domain", "AWS::S3Vectors::VectorBucket", ALARM),
    *("AWS::Logs::LogGroup", "AWS::ApiGateway::Stage", "AWS::WAFv2::WebACL", "AWS::CloudFront::Distribution"),
    *("AWS::StepFunctions::StateMachine", "AWS::Route53Resolver::FirewallDomainList"),
)
EVERYWHERE = {"ApiErrors", "TableThrottles", "WorkflowsFailed", "WorkflowsThrottled", "RotateErrors"}
OF_THE_DOMAIN = {"SearchRed", "SearchStorage", "SearchWrites", "SearchMemory"}
OF_UPLOADS = {"UploadsAside", "UploadsWaiting"}
OF_READS = {"ExtractThrottles"}
OF_RUNS = {"RunPythonThrottles", "RunDenoThrottles", "RunTableThrottles", "ErrandsFailed"}
"""The rest is their callers' doing."""


def alarms(stacks: Stacks) -> dict[str, dict[str, Any]]:
    return stacks.operations.of_type(ALARM)


@each(
    ("stage", "functions", "more"),
    [
        (
            "dev",
            {"Gateway", "Connect", "Workflow", "Errand", "Ingest", "Inference"},
            OF_THE_DOMAIN | OF_UPLOADS | OF_RUNS | OF_READS,
        ),
        (
            "prod",
            {"Gateway", "Connect", "Workflow", "Errand", "Ingest", "Inference"},
            OF_THE_DOMAIN | OF_UPLOADS | OF_RUNS | OF_READS,
        ),
        (
            "words only",
            {"Gateway", "Connect", "Workflow", "Errand", "Ingest"},
            OF_THE_DOMAIN | OF_UPLOADS | OF_RUNS | OF_READS,
        ),
        ("no search", {"Gateway", "Connect", "Workflow", "Errand"}, OF_RUNS),
        (
            "no code",
            {"Gateway", "Connect", "Workflow", "Ingest", "Inference"},
            OF_THE_DOMAIN | OF_UPLOADS | OF_READS,
        ),
    ],
)
def test_the_alarms_watch_what_there_is(
    stacks_of: Synthesised, stage: str, functions: set[str], more: set[str]
) -> None:
    of_functions = {f"{function}{what}" for function in functions for what in ("Errors", "Throttles", "Duration")}
    assert set(alarms(stacks_of(stage))) == EVERYWHERE | of_functions | more


def test_a_stage_with_few_alarms_hears_of_lost_answers_lost_documents_and_lost_workflows(solo: Stacks) -> None:
    assert set(alarms(solo)) == {"ApiErrors", "UploadsAside", "WorkflowsFailed"}


def test_one_event_raises_an_alarm_only_if_something_is_lost_and_each_alarm_says_what_to_do(prod: Stacks) -> None:
    lost = {"UploadsAside", "WorkflowsFailed", "ErrandsFailed", "RotateErrors", "SearchRed", "SearchWrites"}
    assert {name for name, one in alarms(prod).items() if one["Threshold"] == 1} == lost
    for name, one in alarms(prod).items():
        what, _, advice = one["AlarmDescription"].partition(": ")
        assert (bool(what), bool(advice)) == (True, True), name
        if name.endswith(("Throttles", "Throttled", "Duration", "Memory")):
            assert one["EvaluationPeriods"] == 3, name


def test_a_stage_can_do_without_the_dashboard(solo: Stacks, dev: Stacks) -> None:
    shown = [len(one.operations.of_type("AWS::CloudWatch::Dashboard")) for one in (solo, dev)]
    assert shown == [0, 1]


def test_the_synthesis_warns_if_nobody_is_told(folder_of: FolderOf, stacks_of: Synthesised) -> None:
    warned: dict[str, bool] = {}
    for stage in ("dev", "prod"):  # here prod has an address
        stacks_of(stage)
        manifest = "".join(file.read_text("utf-8") for file in assembly(folder_of(stage)).glob("*.json"))
        warned[stage] = "has no alarm_email in cdk.json" in manifest
    assert warned == {"dev": True, "prod": False}


@each("stage", ["dev", "prod", "solo"])
def test_everything_that_is_billed_says_its_stage_and_part(stacks_of: Synthesised, stage: str) -> None:
    tagged = 0
    for part, template in stacks_of(stage).templates.items():
        for type in BILLED:
            for name, properties in template.of_type(type).items():
                tags: list[dict[str, str]] = properties.get("Tags", [])
                found = {one["Key"]: one["Value"] for one in tags}
                assert (found.get("loci:stage"), found.get("loci:part")) == (stage, part), name
                tagged += 1
    assert tagged > 20


def test_every_alarm_tells_when_it_begins_and_ends(prod: Stacks) -> None:
    for alarm in alarms(prod).values():
        told = [prod.operations.read(topic) for topic in (*alarm["AlarmActions"], *alarm["OKActions"])]
        assert told == ["<Alarms>", "<Alarms>"]


def test_the_alarms_name_the_functions_that_are_there(prod: Stacks) -> None:
    made = {f["FunctionName"] for t in prod.templates.values() for f in t.of_type("AWS::Lambda::Function").values()}
    watched = {
        dimension["Value"]
        for alarm in alarms(prod).values()
        for dimension in alarm.get("Dimensions", [])
        if dimension["Name"] == "FunctionName"
    }
    assert watched == made


def test_the_alarms_name_the_queues_that_are_there(prod: Stacks) -> None:
    named = {
        name: dimension["Value"]
        for name, alarm in alarms(prod).items()
        for dimension in alarm.get("Dimensions", [])
        if dimension["Name"] == "QueueName"
    }
    queues = prod.data.of_type("AWS::SQS::Queue")
    assert named == {
        "ErrandsFailed": prod.errand.one("AWS::SQS::Queue")["QueueName"],
        "UploadsAside": queues["UploadsAside"]["QueueName"],
        "UploadsWaiting": queues["Uploads"]["QueueName"],
    }


def test_the_alarms_watch_every_request_that_a_role_may_send_to_a_table(prod: Stacks) -> None:
    allowed = {
        (template.read(table), action.removeprefix("dynamodb:"))
        for template in prod.templates.values()
        for _, statement in template.statements()
        if statement["Effect"] == "Allow"
        for action in listed(statement["Action"])
        if action.startswith("dynamodb:")
        for table in listed(statement["Resource"])
    }
    watched: set[tuple[str, str]] = set()
    for alarm in alarms(prod).values():
        for metric in (one["MetricStat"]["Metric"] for one in alarm.get("Metrics", []) if "MetricStat" in one):
            of = {one["Name"]: prod.operations.read(one["Value"]) for one in metric["Dimensions"]}
            watched.add((of["TableName"].replace(">", ".Arn>"), of["Operation"]))
    assert watched == allowed


@of_each_stage
def test_a_saved_query_shows_the_figures_of_each_tool_of_clients_and_of_code(stacks: Stacks) -> None:
    if stacks.stage.localstack:
        return
    query = stacks.operations.one("AWS::Logs::QueryDefinition")
    of_runs = ["<ErrandLog>"] if stacks.stage.sandbox else []
    assert [stacks.operations.read(group) for group in query["LogGroupNames"]] == [
        "<GatewayLog>",
        "<WorkflowLog>",
        *of_runs,
    ]
    assert 'filter message = "call"' in query["QueryString"]
    logged = inspect.signature(Telemetry.call).parameters
    [stats] = [line for line in query["QueryString"].split("\n") if "stats" in line]
    assert set(re.findall(r"pct\((\w+),", stats)) | set(stats.partition(" by ")[2].split(", ")) <= set(logged)


def test_the_alarms_name_the_api_and_the_domain_that_are_there(prod: Stacks) -> None:
    dimensions = [dimension for alarm in alarms(prod).values() for dimension in alarm.get("Dimensions", [])]
    named = {dimension["Name"]: dimension["Value"] for dimension in dimensions}
    assert named["ApiName"] == prod.gateway.one("AWS::ApiGateway::RestApi")["Name"]
    assert named["Stage"] == prod.gateway.one("AWS::ApiGateway::Stage")["StageName"]
    assert named["DomainName"] == prod.data.one("AWS::OpenSearchService::Domain")["DomainName"]


def test_an_alarm_comes_before_the_timeout(prod: Stacks) -> None:
    [gateway] = prod.gateway.of_type("AWS::Lambda::Function").values()
    assert (alarms(prod)["GatewayDuration"]["Threshold"], gateway["Timeout"]) == (25_000, 30)
    for name in ("Ingest", "Inference", "Errand"):
        [function] = prod.templates[name.lower()].of_type("AWS::Lambda::Function").values()
        assert alarms(prod)[f"{name}Duration"]["Threshold"] < function["Timeout"] * 1000


def test_the_topic_lets_cloudwatch_publish_over_tls(prod: Stacks) -> None:
    statements = prod.operations.one("AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
    by_effect = {statement["Effect"]: statement for statement in statements}
    assert by_effect["Deny"]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert by_effect["Allow"]["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert by_effect["Allow"]["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_an_address_gets_the_alarms_and_the_budgets_warnings(prod: Stacks) -> None:
    warnings = prod.operations.one("AWS::Budgets::Budget")["NotificationsWithSubscribers"]
    warned = {subscriber["Address"] for warning in warnings for subscriber in warning["Subscribers"]}
    assert prod.operations.one("AWS::SNS::Subscription")["Endpoint"] == "ops@example.com"
    assert warned == {"ops@example.com"}


def test_without_an_address_there_is_still_a_topic_to_subscribe_to(dev: Stacks) -> None:
    assert dev.operations.of_type("AWS::SNS::Subscription") == {}
    assert dev.operations.output("AlarmTopic") == "<Alarms>"


@each("stage", ["dev", "prod"])
def test_the_budget_is_the_stages(stacks_of: Synthesised, stage: str) -> None:
    stacks = stacks_of(stage)
    budget = stacks.operations.one("AWS::Budgets::Budget")["Budget"]
    assert budget["BudgetLimit"] == {"Amount": stacks.stage.budget_usd, "Unit": "USD"}


def test_a_budget_that_closes_sets_the_apis_throttle_to_nothing_and_says_how_to_open_it(
    stacks_of: Synthesised, prod: Stacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks, named = stacks_of("closes").operations, "<AWS::Region>::/restapis/<Api>/stages/prod"
    told = {
        (one["Notification"]["NotificationType"], one["Notification"]["Threshold"]): {
            stacks.read(subscriber["Address"]) for subscriber in one["Subscribers"]
        }
        for one in stacks.one("AWS::Budgets::Budget")["NotificationsWithSubscribers"]
    }
    mail = "ops@example.com"
    assert told == {("ACTUAL", 80): {mail}, ("FORECASTED", 100): {mail}, ("ACTUAL", 100): {mail, "<BudgetUsed>"}}
    policy = stacks.of_type("AWS::SNS::TopicPolicy")["BudgetUsedPolicy"]["PolicyDocument"]["Statement"]
    assert {"Service": "budgets.amazonaws.com"} in [one["Principal"] for one in policy if one["Effect"] == "Allow"]
    [subscribed] = [one for one in stacks.of_type("AWS::SNS::Subscription").values() if one["Protocol"] == "lambda"]
    assert (stacks.read(subscribed["TopicArn"]), stacks.read(subscribed["Endpoint"])) == ("<BudgetUsed>", "<Close.Arn>")
    rights = {
        action: [stacks.read(resource) for resource in listed(statement["Resource"])]
        for resource, statement in stacks.statements()
        if resource.startswith("CloseRole")
        for action in listed(statement.get("Action", ()))
        if action.startswith("apigateway:")
    }
    assert rights == {"apigateway:PATCH": [f"arn:<AWS::Partition>:apigateway:{named}"]}
    [function] = stacks.of_type("AWS::Lambda::Function").values()
    for name, value in function["Environment"]["Variables"].items():
        monkeypatch.setenv(name, stacks.read(value))
    opened = stacks.output("OpenDoors")
    assert opened.startswith("aws apigateway update-stage --rest-api-id <Api> --stage-name prod --patch-operations ")
    assert closed(monkeypatch) == ("/restapis/%3CApi%3E/stages/prod", {"rateLimit": "0", "burstLimit": "0"})
    limits = dict(re.findall(r"path=/\*/\*/throttling/(\w+),value=(\d+)", opened))
    assert limits == {"rateLimit": "200", "burstLimit": "400"}
    assert "AWS::Lambda::Function" not in {one["Type"] for one in prod.operations.resources.values()}


def closed(monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, str]]:
    """The address and the limits that the closing function sends to API Gateway."""
    credentials(monkeypatch)
    function, sent = loaded(Path("close")), list[Any]()

    def answered(params: dict[str, Any], **_: object) -> tuple[object, dict[str, Any]]:
        sent.append(params)
        return SimpleNamespace(status_code=200, headers={}), {}

    function.client.meta.events.register_first("before-call.apigateway.UpdateStage", answered)
    function.lambda_handler({}, None)
    [params] = sent
    patches = json.loads(params["body"])["patchOperations"]
    return params["url_path"], {one["path"].removeprefix("/*/*/throttling/"): one["value"] for one in patches}


def test_the_dashboard_shows_every_part(prod: Stacks) -> None:
    body = prod.operations.read(prod.operations.one("AWS::CloudWatch::Dashboard")["DashboardBody"])
    for namespace in ("AWS/ApiGateway", "AWS/Lambda", "AWS/DynamoDB", "AWS/SQS", "AWS/ES", "Loci"):
        assert namespace in body
    widgets = json.loads(body)["widgets"]
    assert len({widget["properties"]["title"] for widget in widgets}) == len(widgets)


def own_metrics(stacks: Stacks) -> set[tuple[str, str, str]]:
    """The names and dimensions of Loci's own metrics that the dashboard shows."""
    body = stacks.operations.read(stacks.operations.one("AWS::CloudWatch::Dashboard")["DashboardBody"])
    lines = [line for widget in json.loads(body)["widgets"] for line in widget["properties"].get("metrics", [])]
    return {(name, dimension, value) for [namespace, name, dimension, value, *_] in own(lines) if namespace == "Loci"}


def own(lines: list[Any]) -> list[list[str]]:
    return [line for line in lines if line[0] == "Loci"]


def test_calls_of_all_tools_come_to_the_few_metrics_that_are_priced_and_shown(dev: Stacks, tmp_path: Path) -> None:
    tools: list[str] = [tool["name"] for tool in json.loads(TOOLS.read_text("utf-8"))]
    events = [event(asks(call(tool)), "v1") for tool in tools]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(HANDLER)],
        env=clean_environment(tmp_path, AWS_LAMBDA_FUNCTION_NAME="loci-dev-gateway", **OPEN),
        input=json.dumps(events),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if '"_aws"' in line]
    assert len(lines) >= len(tools)  # a metric of each call
    sent = {
        (metric["Name"], dimension, line[dimension])
        for line in lines
        for group in line["_aws"]["CloudWatchMetrics"]
        for metric in group["Metrics"]
        for dimensions in group["Dimensions"]
        for dimension in dimensions
    }
    assert sent == {(name, "service", "loci-dev") for name in ASSUMED["metrics"]}
    assert sent == own_metrics(dev)
    assert idle(Deployed(()))["Loci's own metrics"] == pytest.approx(len(sent) * 0.30)
