"""What each role may do: this and no more."""

from typing import Any

from infra.stage import Stage
from tests.infra.conftest import ORDERS, Synthesised, of_each_stage
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
RECORDS = (
    "dynamodb:BatchGetItem dynamodb:BatchWriteItem dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query"
)
OBJECTS = "s3:DeleteObject s3:GetObject s3:PutObject"
OWNER = "?" * 32
EVENTS = ("events",)
KINDS = (
    "deleted",
    "document",
    "embedded",
    "file",
    "file_state",
    "file_version",
    "linked",
    "refused",
    "said",
    "text",
    "turn",
    *EVENTS,
    "index_fill",
    "vectors",
)
OF_INGEST = ("documents", "files", "history", *(f"records/{kind}" for kind in KINDS))
GATEWAY = {
    **OWN,
    RECORDS: ("<Table.Arn>",),
    OBJECTS: ("<Bucket.Arn>/*",),
    f"not {OBJECTS}": (f"<Bucket.Arn>/{OWNER}/executors/*", "<Bucket.Arn>/uploads/*"),
    "not s3:DeleteObject s3:GetObject": ("<Bucket.Arn>/files-in/*",),
    "s3:ListMultipartUploadParts": ("<Bucket.Arn>/files-in/*",),
    "s3:ListBucket": ("<Bucket.Arn>",),
    "logs:CreateLogStream logs:PutLogEvents": ("<GatewayLog.Arn>",),
    "secretsmanager:GetSecretValue": ("<Secret>",),
}
EXECUTORS = {"s3:ListBucket": ("<Bucket.Arn>", "<Executors.Arn>")}
LENT_ROLE = "<AWS::Partition>:iam::<AWS::AccountId>:role/{}-lent-<AWS::Region>"
HERE = "<AWS::Region>:<AWS::AccountId>"
INGEST = {
    **OWN,
    "s3:GetObject": ("<Bucket.Arn>/uploads/*",),
    "s3:DeleteObject s3:GetObject": ("<Bucket.Arn>/files-in/*",),
    OBJECTS: tuple(f"<Bucket.Arn>/{OWNER}/{path}/*" for path in OF_INGEST),
    "not s3:DeleteObject s3:PutObject": ("<Bucket.Arn>/uploads/*",),
    f"not {OBJECTS}": (f"<Bucket.Arn>/{OWNER}/executors/*",),
    "s3:ListBucket": ("<Bucket.Arn>",),
    "logs:CreateLogStream logs:PutLogEvents": ("<IngestLog.Arn>",),
}
READS = (f"<Executors.Arn>/{OWNER}/reads/*",)
LISTS = ("<Bucket.Arn>", "<Executors.Arn>")
CONNECT = {
    **OWN,
    "logs:CreateLogStream logs:PutLogEvents": ("<ConnectLog.Arn>",),
    "dynamodb:GetItem dynamodb:Query if ForAllValues:StringLike dynamodb:LeadingKeys "
    "*#listed_tools *#tool_login *#tool_secret *#tool_server *#events": ("<Table.Arn>",),
    "dynamodb:PutItem if ForAllValues:StringLike dynamodb:LeadingKeys *#listed_tools *#tool_login *#events": (
        "<Table.Arn>",
    ),
    OBJECTS: tuple(f"<Bucket.Arn>/{OWNER}/records/{kind}/*" for kind in (*EVENTS, "listed_tools", "tool_login")),
    f"not {OBJECTS}": ("<Bucket.Arn>/uploads/*",),
    "kms:Decrypt kms:GenerateDataKey if Null kms:EncryptionContext:owner false "
    "if StringEquals kms:EncryptionContext:purpose tool servers": ("<Key.Arn>",),
}
LOG_DELIVERY = (
    *("logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery", "logs:DeleteLogDelivery"),
    *("logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:DescribeResourcePolicies", "logs:DescribeLogGroups"),
)
"""Of Step Functions: they have no resources."""
TRACES = (
    *("xray:PutTraceSegments", "xray:PutTelemetryRecords"),
    *("xray:GetSamplingRules", "xray:GetSamplingTargets"),
)
KEY = "Key"
"""Its own policy leaves it to the roles of the account, as `test_data` says."""
INFERENCE = {**OWN, "logs:CreateLogStream logs:PutLogEvents": ("<InferenceLog.Arn>",)}
# API Gateway asks for it by name, once in an account and region.
MANAGED = ("arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs",)


def in_template(name: str) -> str:
    return name.title().replace("_", "")


def allowed(template: Template) -> dict[str, dict[str, tuple[str, ...]]]:
    """Role -> actions with their conditions -> resources. What is denied begins with `not`."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for policy in template.of_type("AWS::IAM::Policy").values():
        statements: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
        for role in policy["Roles"]:
            of_role = found.setdefault(template.read(role), {})
            for statement in statements:
                denied = "not " if statement["Effect"] == "Deny" else ""
                rights = denied + " ".join(sorted(listed(statement["Action"]))) + _conditions(statement)
                assert rights not in of_role
                of_role[rights] = tuple(sorted(map(template.read, listed(statement["Resource"]))))
    return found


def _conditions(statement: dict[str, Any]) -> str:
    return "".join(
        f" if {how} {key} {' '.join(listed(values))}"
        for how, keys in sorted(statement.get("Condition", {}).items())
        for key, values in sorted(keys.items())
    )


@of_each_stage
def test_the_rotation_may_touch_its_secret_and_its_log(stacks: Stacks) -> None:
    assert allowed(stacks.data) == {"<RotateRole>": ROTATE}


def search(stage: Stage) -> dict[str, tuple[str, ...]]:
    """To the index and to the models, where there are any."""
    domain = f"arn:<AWS::Partition>:es:{HERE}:domain/{stage.prefix}-search/*"
    inference = f"arn:<AWS::Partition>:lambda:{HERE}:function:{stage.prefix}-inference"
    to_search = {"es:ESHttpGet es:ESHttpHead es:ESHttpPost es:ESHttpPut": (domain,)}
    vectors = f"arn:<AWS::Partition>:s3vectors:{HERE}:bucket/{stage.prefix}-vectors"
    indexes = (f"{vectors}-*/index/*", f"{vectors}/index/*")
    to_vectors = {
        "s3vectors:DeleteVectors s3vectors:GetVectors s3vectors:PutVectors s3vectors:QueryVectors": indexes,
        "s3vectors:CreateIndex": tuple(sorted((vectors, f"{vectors}-*", *indexes))),
        "s3vectors:CreateVectorBucket": (f"{vectors}-*",),
    }
    ways = {"domain": to_search, "vectors": to_vectors}
    return ways.get(stage.search, {}) | ({"lambda:InvokeFunction": (inference,)} if stage.infers else {})


def served(stage: Stage) -> dict[str, tuple[str, ...]]:
    """What tool calls reach: the index, the models, and the language model of Bedrock if the stage has one."""
    _, profiled, id = stage.settings.get("language_model", "").partition("bedrock:")
    model = f"arn:<AWS::Partition>:bedrock:*::foundation-model/{id.partition('.')[2]}"
    profile = f"arn:<AWS::Partition>:bedrock:{HERE}:inference-profile/{id}"
    return search(stage) | ({"bedrock:InvokeModel": (model, profile)} if profiled else {})


def queue(stage: Stage) -> str:
    """What is to be ingested."""
    return f"arn:<AWS::Partition>:sqs:{HERE}:{stage.prefix}-ingest"


def invoking(stage: Stage, *names: str) -> dict[str, tuple[str, ...]]:
    """These functions and, if there is one, that of the models."""
    every = sorted([*names, *(["inference"] if stage.infers else [])])
    arns = tuple(f"arn:<AWS::Partition>:lambda:{HERE}:function:{stage.prefix}-{name}" for name in every)
    return {"lambda:InvokeFunction": arns} if every else {}


def starting(stage: Stage) -> dict[str, tuple[str, ...]]:
    """The one machine."""
    machine = f"arn:<AWS::Partition>:states:{HERE}:stateMachine:{stage.prefix}-workflow"
    return {"states:SendTaskSuccess states:StartExecution": (machine,)}


@of_each_stage
def test_the_gateway_may_use_the_stores_the_index_the_models_the_secret_and_its_log(stacks: Stacks) -> None:
    found = allowed(stacks.gateway)["<GatewayRole>"]
    errand = ["errand"] if stacks.stage.sandbox else []
    of_executors = EXECUTORS | {"s3:DeleteObject": ("<Executors.Arn>/*",)} if errand else {}
    told = {"sqs:SendMessage": (queue(stacks.stage),)} if stacks.stage.searches else {}
    expected = GATEWAY | served(stacks.stage) | invoking(stacks.stage, "connect", *errand) | of_executors | told
    assert found == expected | starting(stacks.stage)


@of_each_stage
def test_an_errand_may_run_code_too_and_lend_a_role(stacks: Stacks) -> None:
    if not stacks.stage.sandbox:
        assert "errand" not in stacks.templates
        return
    log = {"logs:CreateLogStream logs:PutLogEvents": ("<ErrandLog.Arn>",)}
    lent = {"sts:AssumeRole": (f"arn:{LENT_ROLE.format(stacks.stage.prefix)}",)}
    found = allowed(stacks.errand)["<ErrandRole>"]
    assert {actions: on for actions, on in found.items() if "sqs:" not in actions} == (
        GATEWAY
        | log
        | served(stacks.stage)
        | invoking(stacks.stage, "connect", "run_deno", "run_python")
        | lent
        | EXECUTORS
        | {
            "dynamodb:DeleteItem dynamodb:PutItem dynamodb:Query": ("<RunRows.Arn>",),
            # The statements with the same actions become one.
            OBJECTS: ("<Bucket.Arn>/*", "<Executors.Arn>/*"),
        }
    )


@of_each_stage
def test_a_workflow_may_do_what_an_errand_may(stacks: Stacks) -> None:
    log = {"logs:CreateLogStream logs:PutLogEvents": ("<WorkflowLog.Arn>",)}
    told = {"sqs:SendMessage": (queue(stacks.stage),)} if stacks.stage.searches else {}
    expected = GATEWAY | log | served(stacks.stage) | told | starting(stacks.stage)
    if stacks.stage.sandbox:
        expected |= invoking(stacks.stage, "connect", "run_deno", "run_python") | EXECUTORS
        expected |= {
            "sts:AssumeRole": (f"arn:{LENT_ROLE.format(stacks.stage.prefix)}",),
            "dynamodb:DeleteItem dynamodb:PutItem dynamodb:Query": ("<RunRows.Arn>",),
            OBJECTS: ("<Bucket.Arn>/*", "<Executors.Arn>/*"),
        }
    else:
        expected |= invoking(stacks.stage, "connect")
    assert allowed(stacks.workflows)["<WorkflowRole>"] == expected


@of_each_stage
def test_the_machine_may_invoke_its_function_and_write_its_log(stacks: Stacks) -> None:
    assert allowed(stacks.workflows)["<MachineRole>"] == {
        "lambda:InvokeFunction": ("<Workflow.Arn>",),
        " ".join(sorted((*LOG_DELIVERY, *TRACES))): ("*",),
    }


@of_each_stage
def test_what_reaches_tool_servers_may_read_them_open_their_secrets_and_keep_their_lists(stacks: Stacks) -> None:
    assert allowed(stacks.connect) == {"<ConnectRole>": CONNECT}


def test_it_may_invoke_the_functions_that_the_stage_lists_and_no_others(stacks_of: Synthesised) -> None:
    connect = stacks_of("functions").connect
    assert allowed(connect) == {"<ConnectRole>": CONNECT | {"lambda:InvokeFunction": (ORDERS,)}}
    assert connect.one("AWS::Lambda::Function")["Environment"]["Variables"]["LOCI_TOOL_FUNCTIONS"] == ORDERS


def test_nothing_is_asked_again_that_failed(dev: Stacks) -> None:
    assert dev.connect.one("AWS::Lambda::EventInvokeConfig")["MaximumRetryAttempts"] == 0


@of_each_stage
def test_what_reaches_tool_servers_is_in_no_network(stacks: Stacks) -> None:
    assert "VpcConfig" not in stacks.connect.one("AWS::Lambda::Function")


@of_each_stage
def test_no_other_role_may_use_the_key(stacks: Stacks) -> None:
    may = {name for name, one in stacks.templates.items() if "kms:" in str([each for _, each in one.statements()])}
    assert may == {"connect", "data"}
    assert "kms:" not in str(allowed(stacks.data))


def test_failed_errands_may_be_sent_to_their_queue_and_files_to_that_of_the_ingestion(dev: Stacks) -> None:
    sent = {actions: on for actions, on in allowed(dev.errand)["<ErrandRole>"].items() if "sqs:" in actions}
    failed = "sqs:GetQueueAttributes sqs:GetQueueUrl sqs:SendMessage"
    assert sent == {failed: ("<ErrandsFailed.Arn>",), "sqs:SendMessage": (queue(dev.stage),)}


def test_what_is_lent_to_runs_reaches_rows_of_the_table(dev: Stacks) -> None:
    of_runs = "ForAllValues:StringLike dynamodb:LeadingKeys run#*"
    assert allowed(dev.errand)["<RunRole>"] == {
        f"dynamodb:Query if {of_runs}": ("<RunRows.Arn>",),
        f"dynamodb:UpdateItem if ForAllValues:StringEquals dynamodb:Attributes pk sk body if {of_runs}": (
            "<RunRows.Arn>",
        ),
    }
    [role] = [one for name, one in dev.errand.of_type("AWS::IAM::Role").items() if name == "RunRole"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    lenders = {dev.errand.read(one) for one in trust["Principal"]["AWS"]}
    assert lenders == {"<ErrandRole.Arn>", "<WorkflowRole.Arn>"}


@of_each_stage
def test_the_ingestion_may_use_the_stores_the_index_the_models_its_queue_and_its_log(stacks: Stacks) -> None:
    if not stacks.stage.searches:
        assert "ingest" not in stacks.templates
        return
    own = queue(stacks.stage)
    receive = {"sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage": (own,)}
    put_aside = {"sqs:SendMessage": (own, f"{own}-aside")}
    reads, lists = (READS, LISTS) if stacks.stage.reads_files else ((), INGEST["s3:ListBucket"])
    objects = {OBJECTS: tuple(sorted((*INGEST[OBJECTS], *reads))), "s3:ListBucket": lists}
    extract = ["extract"] if stacks.stage.reads_files else []
    counted = ["language_tokens"] if "language_model" in stacks.stage.settings else []
    kinds = " ".join(f"*#{kind}" for kind in (*KINDS, *counted))
    rows = {f"{RECORDS} if ForAllValues:StringLike dynamodb:LeadingKeys {kinds}": ("<Table.Arn>",)}
    expected = INGEST | rows | objects | served(stacks.stage) | invoking(stacks.stage, *extract) | receive | put_aside
    assert allowed(stacks.ingest) == {"<IngestRole>": expected}


def test_the_inference_may_write_its_log(dev: Stacks) -> None:
    assert allowed(dev.inference) == {"<InferenceRole>": INFERENCE}


@of_each_stage
def test_no_statement_allows_every_action_of_a_service(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for resource, statement in template.statements():
            if statement["Effect"] == "Allow" and resource != KEY:
                assert not [action for action in listed(statement["Action"]) if "*" in action], resource


@of_each_stage
def test_no_statement_but_those_for_traces_and_networks_allows_every_resource(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for resource, statement in template.statements():
            if statement["Effect"] == "Allow" and "*" in listed(statement.get("Resource", ())) and resource != KEY:
                traces = {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
                own = [{*LOG_DELIVERY, *TRACES}] if resource.startswith("MachineRole") else []
                assert set(statement["Action"]) in [traces, set(INTERFACES), *own]


@of_each_stage
def test_each_role_is_one_services_own(stacks: Stacks) -> None:
    trusted = {
        name: role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
        for template in stacks.templates.values()
        for name, role in template.of_type("AWS::IAM::Role").items()
    }
    trusted.pop("RunRole", None)
    functions = {f"{in_template(name)}Role": {"Service": "lambda.amazonaws.com"} for name in stacks.stage.functions}
    logs = {"ApiCloudWatchRole": {"Service": "apigateway.amazonaws.com"}} if stacks.stage.account_log_role else {}
    machine = {"MachineRole": {"Service": "states.amazonaws.com"}}
    assert trusted == {**functions, **logs, **machine}


@of_each_stage
def test_only_api_gateways_role_for_logs_has_a_policy_of_aws(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for name, role in template.of_type("AWS::IAM::Role").items():
            managed = tuple(template.read(policy) for policy in role.get("ManagedPolicyArns", ()))
            assert managed == (MANAGED if name == "ApiCloudWatchRole" else ())
