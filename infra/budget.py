"""The monthly budget of a stage: it warns, and may close the doors when it is used up."""

from typing import cast

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions

from infra import defaults
from infra.stage import FunctionSize, Stage

WARNINGS = (("ACTUAL", 80), ("FORECASTED", 100))  # percent of the amount
CLOSES = ("ACTUAL", 100)
SIZE = FunctionSize(memory_mb=256, timeout_s=30)


def budget(stack: Stack, stage: Stage, api_id: str) -> None:
    """Create a budget for the whole account: a filter by tag must first be enabled in the billing console."""
    if stage.budget_usd is None:
        return
    mail = [_subscriber("EMAIL", stage.alarm_email)] if stage.alarm_email else []
    told = {kind: mail for kind in WARNINGS if mail}
    if stage.budget_closes:
        told[CLOSES] = [*mail, _subscriber("SNS", _closing(stack, stage, api_id))]
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
                subscribers=subscribers,
            )
            for (kind, per_cent), subscribers in told.items()
        ]
        or None,
    )


def let_publish(topic: sns.Topic, service: str) -> None:
    """Let the service publish to the topic, for this account only."""
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[defaults.service(service)],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": topic.stack.account}},
        )
    )


def _subscriber(kind: str, address: str) -> budgets.CfnBudget.SubscriberProperty:
    return budgets.CfnBudget.SubscriberProperty(subscription_type=kind, address=address)


def _closing(stack: Stack, stage: Stage, api_id: str) -> str:
    """Return the topic that calls the function which sets the API's throttle to nothing: refused requests are free."""
    topic = sns.Topic(stack, "BudgetUsed", display_name=stage.prefix, enforce_ssl=True)
    let_publish(topic, "budgets.amazonaws.com")
    of_stage = f"/restapis/{api_id}/stages/{stage.name}"
    function = defaults.function(
        stack,
        "close",
        stage,
        size=SIZE,
        settings={},
        may=[defaults.allow(["apigateway:PATCH"], [f"arn:{stack.partition}:apigateway:{stack.region}::{of_stage}"])],
        description="Closes the API of Loci when the budget is used up",
    )
    for name, value in {"API": api_id, "STAGE": stage.name}.items():
        cast("lambda_.Function", function).add_environment(name, value)
    topic.add_subscription(cast("sns.ITopicSubscription", subscriptions.LambdaSubscription(function)))
    limits = {"rateLimit": stage.throttle.rate, "burstLimit": stage.throttle.burst}
    patches = " ".join(f"'op=replace,path=/*/*/throttling/{name},value={value}'" for name, value in limits.items())
    command = f"aws apigateway update-stage --rest-api-id {api_id} --stage-name {stage.name}"
    CfnOutput(stack, "OpenDoors", value=f"{command} --patch-operations {patches}")
    return topic.topic_arn
