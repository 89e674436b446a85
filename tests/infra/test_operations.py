"""Somebody is told when it goes wrong or gets dear."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.infra.conftest import Synthesised
from tests.infra.synthesis import Stacks

ALARM = "AWS::CloudWatch::Alarm"
ONE_CALL = """
from loci.core.telemetry import Telemetry
Telemetry("ERROR").call(tool="t", owner="o", ms=1, outcome="ok", code="", asked=0, answered=0)
"""
EVERYWHERE = {"ApiErrors", "TableThrottles"}
OF_THE_DOMAIN = {"SearchRed", "SearchStorage"}
OF_UPLOADS = {"UploadsAside", "UploadsWaiting"}

OF_RUNS = {"RunPythonThrottles", "RunDenoThrottles"}  # the rest is their callers' doing


def alarms(stacks: Stacks) -> dict[str, dict[str, Any]]:
    return stacks.operations.of_type(ALARM)


@pytest.mark.parametrize(
    ("stage", "functions", "more"),
    [
        ("dev", {"Gateway", "Rotate", "Ingest", "Inference"}, OF_THE_DOMAIN | OF_UPLOADS | OF_RUNS),
        ("prod", {"Gateway", "Rotate", "Ingest", "Inference"}, OF_THE_DOMAIN | OF_UPLOADS | OF_RUNS),
        ("words only", {"Gateway", "Rotate", "Ingest"}, OF_THE_DOMAIN | OF_UPLOADS | OF_RUNS),
        ("no search", {"Gateway", "Rotate"}, OF_RUNS),
        ("no code", {"Gateway", "Rotate", "Ingest", "Inference"}, OF_THE_DOMAIN | OF_UPLOADS),
    ],
)
def test_the_alarms_watch_what_there_is(
    stacks_of: Synthesised, stage: str, functions: set[str], more: set[str]
) -> None:
    of_functions = {f"{function}{what}" for function in functions for what in ("Errors", "Throttles", "Duration")}
    assert set(alarms(stacks_of(stage))) == EVERYWHERE | of_functions | more


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
        "UploadsAside": queues["UploadsAside"]["QueueName"],
        "UploadsWaiting": queues["Uploads"]["QueueName"],
    }


def test_the_alarms_name_the_api_and_the_domain_that_are_there(prod: Stacks) -> None:
    dimensions = [dimension for alarm in alarms(prod).values() for dimension in alarm.get("Dimensions", [])]
    named = {dimension["Name"]: dimension["Value"] for dimension in dimensions}
    assert named["ApiName"] == prod.gateway.one("AWS::ApiGateway::RestApi")["Name"]
    assert named["Stage"] == prod.gateway.one("AWS::ApiGateway::Stage")["StageName"]
    assert named["DomainName"] == prod.data.one("AWS::OpenSearchService::Domain")["DomainName"]


def test_an_alarm_comes_before_the_timeout(prod: Stacks) -> None:
    [gateway] = prod.gateway.of_type("AWS::Lambda::Function").values()
    assert alarms(prod)["GatewayDuration"]["Threshold"] < gateway["Timeout"] * 1000


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


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_budget_is_the_stages(stacks_of: Synthesised, stage: str) -> None:
    stacks = stacks_of(stage)
    budget = stacks.operations.one("AWS::Budgets::Budget")["Budget"]
    assert budget["BudgetLimit"] == {"Amount": stacks.stage.budget_usd, "Unit": "USD"}


def test_the_dashboard_shows_every_part(prod: Stacks) -> None:
    body = prod.operations.read(prod.operations.one("AWS::CloudWatch::Dashboard")["DashboardBody"])
    for namespace in ("AWS/ApiGateway", "AWS/Lambda", "AWS/DynamoDB", "AWS/SQS", "AWS/ES", "{Loci,service,tool}"):
        assert namespace in body
    widgets = json.loads(body)["widgets"]
    assert len({widget["properties"]["title"] for widget in widgets}) == len(widgets)


def test_the_dashboard_asks_for_locis_metrics_by_the_dimensions_that_loci_gives() -> None:
    from infra.dashboard import BY_TOOL  # imports the CDK, which takes its time

    on_lambda = {**os.environ, "AWS_LAMBDA_FUNCTION_NAME": "loci-dev-gateway"}
    done = subprocess.run([sys.executable, "-c", ONE_CALL], env=on_lambda, capture_output=True, text=True, check=True)
    [metrics] = json.loads(done.stdout)["_aws"]["CloudWatchMetrics"]
    [dimensions] = metrics["Dimensions"]
    assert f"{{{','.join([metrics['Namespace'], *sorted(dimensions)])}}}" == BY_TOOL
    assert {metric["Name"] for metric in metrics["Metrics"]} == {"Duration", "Errors"}
