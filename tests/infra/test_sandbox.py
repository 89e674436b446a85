"""What runs callers' code has no rights, and no way out."""

import json
from pathlib import Path
from typing import Any

import pytest

from loci.sandbox.lambda_host.python_function import LARGEST_FILE
from tests.infra.conftest import Synthesised
from tests.infra.sandbox import INTERFACES
from tests.infra.synthesis import Stacks
from tests.infra.template import listed
from tests.support.each import each

FUNCTION = "AWS::Lambda::Function"
HERE = "<AWS::Region>.<AWS::URLSuffix>"


def test_each_tenant_has_a_machine_of_its_own(dev: Stacks) -> None:
    functions = dev.sandbox.of_type(FUNCTION)
    assert set(functions) == {"RunPython", "RunDeno", "Extract"}
    for function in functions.values():
        assert function["TenancyConfig"] == {"TenantIsolationMode": "PER_TENANT"}


def test_they_have_the_sizes_of_the_stage(dev: Stacks) -> None:
    for name, size in dev.stage.isolated.items():
        [function] = [
            one for one in dev.sandbox.of_type(FUNCTION).values() if one["FunctionName"] == f"loci-dev-{name}"
        ]
        assert (function["MemorySize"], function["Timeout"]) == (size.memory_mb, size.timeout_s)


def test_there_is_room_in_tmp_for_the_files_that_a_session_opens(dev: Stacks) -> None:
    room = {
        name: one.get("EphemeralStorage", {}).get("Size", 512) for name, one in dev.sandbox.of_type(FUNCTION).items()
    }
    assert room == {"RunPython": 4096, "RunDeno": 512, "Extract": 2048}
    assert room["RunPython"] << 20 >= 10 * LARGEST_FILE


def test_no_variable_tells_them_anything(dev: Stacks) -> None:
    assert not [one for one in dev.sandbox.of_type(FUNCTION).values() if "Environment" in one]


def test_the_code_in_them_may_do_nothing(dev: Stacks) -> None:
    """What Lambda does with the role itself comes from no function."""
    for name, function in (("RunPython", "run_python"), ("RunDeno", "run_deno"), ("Extract", "extract")):
        statements = [one for resource, one in dev.sandbox.statements() if resource.startswith(f"{name}RoleDefault")]
        allowing = [one for one in statements if one["Effect"] == "Allow"]
        [denying] = [one for one in statements if one["Effect"] == "Deny"]
        assert [set(listed(one["Action"])) for one in allowing] == [set(INTERFACES)]
        assert (denying["Action"], denying["Resource"]) == ("*", "*")
        arns = [dev.sandbox.read(one) for one in denying["Condition"]["ArnLike"]["lambda:SourceFunctionArn"]]
        assert [arn.partition(":function:")[2] for arn in arns] == [f"loci-dev-{function}", f"loci-dev-{function}:*"]


def test_no_policy_of_aws_is_added_to_their_roles(dev: Stacks) -> None:
    assert not [role for role in dev.sandbox.of_type("AWS::IAM::Role").values() if "ManagedPolicyArns" in role]


def test_the_network_leads_nowhere(dev: Stacks) -> None:
    kinds = {resource["Type"] for resource in dev.sandbox.resources.values()}
    ways = ("InternetGateway", "NatGateway", "EIP", "VPNGateway", "TransitGatewayAttachment", "VPCPeeringConnection")
    assert not {f"AWS::EC2::{way}" for way in ways} & kinds
    assert "AWS::EC2::Route" not in kinds
    assert not [one for one in dev.sandbox.of_type("AWS::EC2::Subnet").values() if one.get("MapPublicIpOnLaunch")]


def test_its_endpoints_let_through_executors_files_and_rows_that_were_lent(dev: Stacks) -> None:
    let: dict[str, dict[str, Any]] = {}
    for endpoint in dev.sandbox.of_type("AWS::EC2::VPCEndpoint").values():
        [statement] = endpoint["PolicyDocument"]["Statement"]
        let[dev.sandbox.read(endpoint["ServiceName"]).rpartition(".")[2]] = statement
    assert set(let) == {"s3", "dynamodb"}
    assert set(let["s3"]["Action"]) == {"s3:GetObject", "s3:PutObject"}
    assert dev.sandbox.read(let["s3"]["Resource"]) == "<Executors.Arn>/*"
    assert set(let["dynamodb"]["Action"]) == {"dynamodb:Query", "dynamodb:UpdateItem"}
    assert dev.sandbox.read(let["dynamodb"]["Resource"]) == "<RunRows.Arn>"
    lent = dev.sandbox.read(let["dynamodb"]["Condition"]["ArnEquals"]["aws:PrincipalArn"])
    assert lent.endswith(":role/loci-dev-lent-<AWS::Region>")


def test_its_resolver_knows_the_bucket_and_the_table_and_no_other_name(dev: Stacks) -> None:
    lists = dev.sandbox.of_type("AWS::Route53Resolver::FirewallDomainList")
    known = [dev.sandbox.read(one) for one in lists["Known"]["Domains"]]
    assert known == [f"<Executors>.s3.{HERE}", f"dynamodb.{HERE}"]
    assert lists["Others"]["Domains"] == ["*"]
    rules = dev.sandbox.one("AWS::Route53Resolver::FirewallRuleGroup")["FirewallRules"]
    by_priority = sorted(rules, key=lambda rule: rule["Priority"])
    assert [(rule["Action"], dev.sandbox.read(rule["FirewallDomainListId"])) for rule in by_priority] == [
        ("ALLOW", "<Known.Id>"),
        ("BLOCK", "<Others.Id>"),
    ]
    assert (
        dev.sandbox.read(dev.sandbox.one("AWS::Route53Resolver::FirewallRuleGroupAssociation")["VpcId"]) == "<Network>"
    )


def test_nothing_comes_in_and_only_https_goes_out(dev: Stacks) -> None:
    group = dev.sandbox.one("AWS::EC2::SecurityGroup")
    assert "SecurityGroupIngress" not in group
    assert [(rule["FromPort"], rule["ToPort"]) for rule in group["SecurityGroupEgress"]] == [(443, 443)]


def test_an_errand_is_done_once_or_never_and_a_failed_one_is_kept(dev: Stacks) -> None:
    taken = dev.errand.one("AWS::Lambda::EventInvokeConfig")
    assert dev.errand.read(taken["FunctionName"]) == "<Errand>"
    assert (taken["MaximumRetryAttempts"], taken["MaximumEventAgeInSeconds"]) == (0, 60)
    assert dev.errand.read(taken["DestinationConfig"]["OnFailure"]["Destination"]) == "<ErrandsFailed.Arn>"
    assert dev.gateway.of_type("AWS::Lambda::EventInvokeConfig") == {}


def test_the_queue_of_failed_errands_is_encrypted_and_takes_requests_over_tls_only(dev: Stacks) -> None:
    assert dev.errand.one("AWS::SQS::Queue")["SqsManagedSseEnabled"]
    [refused] = dev.errand.one("AWS::SQS::QueuePolicy")["PolicyDocument"]["Statement"]
    assert (refused["Effect"], refused["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


@each(("stage", "reserved"), [("dev", None), ("prod", 50)])
def test_errands_take_no_room_from_requests(stacks_of: Synthesised, stage: str, reserved: int | None) -> None:
    errand = stacks_of(stage).errand.one(FUNCTION)
    assert errand.get("ReservedConcurrentExecutions") == reserved


def test_the_gateway_is_told_where_they_are(dev: Stacks) -> None:
    [gateway] = dev.gateway.of_type(FUNCTION).values()
    variables = gateway["Environment"]["Variables"]
    assert variables["LOCI_ERRAND_FUNCTION"] == dev.errand.one(FUNCTION)["FunctionName"]
    functions = [variables[f"LOCI_RUN_{name}_FUNCTION"] for name in ("PYTHON", "DENO")]
    assert functions == ["loci-dev-run_python", "loci-dev-run_deno"]
    assert dev.gateway.read(variables["LOCI_RUN_ROLE"]).endswith(":role/loci-dev-lent-<AWS::Region>")
    stores = [dev.gateway.read(variables[f"LOCI_{name}"]) for name in ("RUN_TABLE", "EXECUTOR_BUCKET")]
    assert stores == ["<RunRows>", "<Executors>"]


@pytest.fixture(scope="module")
def contexts(assembly_of_dev: Path) -> dict[str, Path]:
    """The folders that the images are built from, by their function."""
    [manifest] = [json.loads(file.read_text()) for file in assembly_of_dev.glob("*sandbox.assets.json")]
    sources = [asset["source"] for asset in manifest["dockerImages"].values()]
    return {Path(one["dockerFile"]).parent.name: assembly_of_dev / one["directory"] for one in sources}


@each(("function", "lock"), [("run_python", "runner.lock"), ("run_deno", "deno.lock"), ("extract", "readers.lock")])
def test_an_image_is_built_of_its_handler_its_lock_and_the_programs(
    contexts: dict[str, Path], function: str, lock: str
) -> None:
    context = contexts[function]
    files = {str(file.relative_to(context)) for file in context.rglob("*") if file.is_file()}
    others = {file for file in files if not file.startswith("shared/loci/sandbox/")}
    own = {f"functions/{function}/Dockerfile", f"functions/{function}/handler.py", f"requirements/{lock}"}
    parsers = {file for file in others if file.startswith("shared/loci/files/")}
    assert others - parsers == {".dockerignore", "shared/loci/__init__.py", *own}
    assert bool(parsers) == (function == "extract")
    assert all("/extract/" in file or file.endswith("/files/__init__.py") for file in parsers)
