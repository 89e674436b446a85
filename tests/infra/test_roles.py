"""What each role may do: this and no more."""

from typing import Any

from infra.stage import Stage
from tests.infra.sandbox import INTERFACES
from tests.infra.synthesis import Stacks
from tests.infra.template import Template, listed

OWN = {
    "xray:PutTelemetryRecords xray:PutTraceSegments": ("*",),  # X-Ray has no resources
}
ROTATE = {
    **OWN,
    "logs:CreateLogStream logs:PutLogEvents": ("<RotateLog.Arn>",),
    "secretsmanager:DescribeSecret secretsmanager:GetSecretValue secretsmanager:PutSecretValue "
    "secretsmanager:UpdateSecretVersionStage": ("<Secret>",),
}
DOCUMENTS = {
    "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query": ("<Table.Arn>",),
    "s3:DeleteObject s3:GetObject s3:PutObject": ("<Bucket.Arn>/*",),
    "s3:ListBucket": ("<Bucket.Arn>",),
}
GATEWAY = {
    **OWN,
    **DOCUMENTS,
    "logs:CreateLogStream logs:PutLogEvents": ("<GatewayLog.Arn>",),
    "secretsmanager:GetSecretValue": ("<Secret>",),
}
LENT_ROLE = "<AWS::Partition>:iam::<AWS::AccountId>:role/{}-run-<AWS::Region>"
HERE = "<AWS::Region>:<AWS::AccountId>"
INGEST = {
    **OWN,
    **DOCUMENTS,
    "logs:CreateLogStream logs:PutLogEvents": ("<IngestLog.Arn>",),
}
INFERENCE = {**OWN, "logs:CreateLogStream logs:PutLogEvents": ("<InferenceLog.Arn>",)}
MODEL = "amazon.nova-lite-v1:0"
# API Gateway asks for it by name, once in an account and region.
MANAGED = ("arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs",)


def in_template(name: str) -> str:
    return name.title().replace("_", "")


def allowed(template: Template) -> dict[str, dict[str, tuple[str, ...]]]:
    """Role -> actions -> resources."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for policy in template.of_type("AWS::IAM::Policy").values():
        statements: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
        for role in policy["Roles"]:
            of_role = found.setdefault(template.read(role), {})
            for statement in statements:
                assert statement["Effect"] == "Allow"
                actions = " ".join(sorted(listed(statement["Action"])))
                of_role[actions] = tuple(template.read(resource) for resource in listed(statement["Resource"]))
    return found


def test_the_rotation_may_touch_its_secret_and_its_log(stacks: Stacks) -> None:
    assert allowed(stacks.data) == {"<RotateRole>": ROTATE}


def search(stage: Stage) -> dict[str, tuple[str, ...]]:
    """To the index and to the models, where there are any."""
    domain = f"arn:<AWS::Partition>:es:{HERE}:domain/{stage.prefix}-search/*"
    inference = f"arn:<AWS::Partition>:lambda:{HERE}:function:{stage.prefix}-inference"
    to_search = {"es:ESHttpGet es:ESHttpHead es:ESHttpPost es:ESHttpPut": (domain,)}
    return (to_search if stage.search == "domain" else {}) | (
        {"lambda:InvokeFunction": (inference,)} if stage.infers else {}
    )


def runs(stage: Stage) -> dict[str, tuple[str, ...]]:
    """The functions that run code, the gateway itself for jobs, and the role that is lent."""
    invoked = ["inference"] if stage.infers else []
    if not stage.sandbox:
        return {}
    names = ["gateway", *invoked, "run_deno", "run_python"]
    functions = tuple(f"arn:<AWS::Partition>:lambda:{HERE}:function:{stage.prefix}-{name}" for name in names)
    return {"lambda:InvokeFunction": functions, "sts:AssumeRole": (f"arn:{LENT_ROLE.format(stage.prefix)}",)}


def test_the_gateway_may_use_the_stores_the_index_the_models_the_secret_and_its_log(stacks: Stacks) -> None:
    found = allowed(stacks.gateway)["<GatewayRole>"]
    found.pop("bedrock:InvokeModel", None)
    assert found == GATEWAY | search(stacks.stage) | runs(stacks.stage)


def test_what_is_lent_to_runs_reaches_rows_of_the_table(dev: Stacks) -> None:
    assert allowed(dev.gateway)["<RunRole>"] == {"dynamodb:PutItem dynamodb:Query": ("<Table.Arn>",)}
    [role] = [one for name, one in dev.gateway.of_type("AWS::IAM::Role").items() if name == "RunRole"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert dev.gateway.read(trust["Principal"]["AWS"]) == "<GatewayRole.Arn>"


def test_the_ingestion_may_use_the_stores_the_index_the_models_its_queue_and_its_log(stacks: Stacks) -> None:
    if not stacks.stage.searches:
        assert "ingest" not in stacks.templates
        return
    queue = f"arn:<AWS::Partition>:sqs:{HERE}:{stacks.stage.prefix}-ingest"
    receive = {"sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage": (queue,)}
    assert allowed(stacks.ingest) == {"<IngestRole>": INGEST | search(stacks.stage) | receive}


def test_the_inference_may_write_its_log(dev: Stacks) -> None:
    assert allowed(dev.inference) == {"<InferenceRole>": INFERENCE}


def test_no_statement_allows_every_action_of_a_service(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for resource, statement in template.statements():
            if statement["Effect"] == "Allow":
                assert not [action for action in listed(statement["Action"]) if "*" in action], resource


def test_no_statement_but_those_for_traces_and_networks_allows_every_resource(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for _, statement in template.statements():
            if statement["Effect"] == "Allow" and "*" in listed(statement.get("Resource", ())):
                actions = set(statement["Action"])
                assert actions == {"xray:PutTelemetryRecords", "xray:PutTraceSegments"} or actions == set(INTERFACES)


def test_each_role_is_one_services_own(stacks: Stacks) -> None:
    trusted = {
        name: role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
        for template in stacks.templates.values()
        for name, role in template.of_type("AWS::IAM::Role").items()
    }
    trusted.pop("RunRole", None)
    functions = {f"{in_template(name)}Role": {"Service": "lambda.amazonaws.com"} for name in stacks.stage.functions}
    logs = {"ApiCloudWatchRole": {"Service": "apigateway.amazonaws.com"}} if stacks.stage.account_log_role else {}
    assert trusted == {**functions, **logs}


def test_only_api_gateways_role_for_logs_has_a_policy_of_aws(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for name, role in template.of_type("AWS::IAM::Role").items():
            managed = tuple(template.read(policy) for policy in role.get("ManagedPolicyArns", ()))
            assert managed == (MANAGED if name == "ApiCloudWatchRole" else ())
