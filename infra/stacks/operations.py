"""The stack `operations`: alarms, a dashboard if the stage has one, a query of the calls of tools, and a budget."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra import alarms
from infra.dashboard import dashboard
from infra.defaults import service
from infra.stacks.data import Data
from infra.stage import Stage

BUDGET_WARNINGS = (("ACTUAL", 80), ("FORECASTED", 100))  # percent of the amount


class Operations(Stack):
    """Watches the other stacks by the names of their resources: a reference would be an export, and lock them.

    Only the tables and the logs of calls are references, because CloudFormation names them. None is ever replaced.
    """

    def __init__(self, scope: Construct, stage: Stage, data: Data, calls: Sequence[logs.ILogGroup]) -> None:
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
        _budget(self, stage)
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
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[service("cloudwatch.amazonaws.com")],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
        )
    )
    if stage.alarm_email:
        subscription = subscriptions.EmailSubscription(stage.alarm_email)
        topic.add_subscription(cast("sns.ITopicSubscription", subscription))
    else:
        told = f"{stage.name} has no alarm_email in cdk.json: nobody is told of alarms and of the budget"
        Annotations.of(topic).add_warning_v2("loci:alarm_email", told)
    return topic


def _budget(stack: Stack, stage: Stage) -> None:
    """Create a budget for the whole account: a filter by tag must first be enabled in the billing console."""
    if stage.budget_usd is None:
        return
    spend = budgets.CfnBudget.SpendProperty(amount=stage.budget_usd, unit="USD")
    budgets.CfnBudget(
        stack,
        "Budget",
        budget=budgets.CfnBudget.BudgetDataProperty(
            budget_name=f"{stage.prefix}-{stack.region}", budget_type="COST", time_unit="MONTHLY", budget_limit=spend
        ),
        notifications_with_subscribers=[
            budgets.CfnBudget.NotificationWithSubscribersProperty(
                notification=budgets.CfnBudget.NotificationProperty(
                    comparison_operator="GREATER_THAN", notification_type=kind, threshold=per_cent
                ),
                subscribers=[
                    budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=stage.alarm_email)
                ],
            )
            for kind, per_cent in BUDGET_WARNINGS
        ]
        if stage.alarm_email
        else None,
    )
