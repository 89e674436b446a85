"""The stack `operations`: alarms, a dashboard if the stage has one, a query of the calls of tools, and a budget."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra import alarms
from infra.budget import budget, let_publish
from infra.dashboard import dashboard
from infra.stacks.data import Data
from infra.stage import Stage


class Operations(Stack):
    """Watches the other stacks by the names of their resources: a reference would be an export, and lock them.

    Only the tables, the logs of calls and the API are references, because CloudFormation names them. None is ever
    replaced.
    """

    def __init__(
        self, scope: Construct, stage: Stage, data: Data, calls: Sequence[logs.ILogGroup], api_id: str
    ) -> None:
        super().__init__(scope, f"{stage.prefix}-operations", description="Loci: dashboard, alarms, budget")
        table = data.table.table_name
        topic = _topic(self, stage)
        tell = cast("cloudwatch.IAlarmAction", actions.SnsAction(cast("sns.ITopic", topic)))
        for alarm in alarms.all_of(self, stage, table, data.run_rows.table_name):
            alarm.add_alarm_action(tell)
            alarm.add_ok_action(tell)
        if stage.dashboard:
            dashboard(self, stage, table)
        _query_of_tools(self, stage, calls)
        budget(self, stage, api_id)
        CfnOutput(self, "AlarmTopic", value=topic.topic_arn)


def _query_of_tools(stack: Stack, stage: Stage, calls: Sequence[logs.ILogGroup]) -> None:
    """Save a query for Logs Insights with the figures of each tool: as metrics they would cost $0.60 a tool."""
    query = logs.QueryString(
        filter_statements=['message = "call"'],
        stats_statements=["count(*) as calls, pct(ms, 50) as p50_ms, pct(ms, 95) as p95_ms by tool, outcome"],
        sort="calls desc",
    )
    logs.QueryDefinition(
        stack, "Tools", query_definition_name=f"{stage.prefix}/tools", query_string=query, log_groups=calls
    )


def _topic(stack: Stack, stage: Stage) -> sns.Topic:
    topic = sns.Topic(stack, "Alarms", display_name=stage.prefix, enforce_ssl=True)
    # This replaces the default policy of the topic, which allowed CloudWatch.
    let_publish(topic, "cloudwatch.amazonaws.com")
    if stage.alarm_email:
        subscription = subscriptions.EmailSubscription(stage.alarm_email)
        topic.add_subscription(cast("sns.ITopicSubscription", subscription))
    else:
        told = f"{stage.name} has no alarm_email in cdk.json: nobody is told of alarms and of the budget"
        Annotations.of(topic).add_warning_v2("loci:alarm_email", told)
    return topic
