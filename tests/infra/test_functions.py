"""Every function is made one way, and told only what Loci understands."""

import re

import pytest

from loci.core.settings import PREFIX, Settings, settings_by_name
from tests.infra.conftest import Synthesised, of_each_stage
from tests.infra.synthesis import Stacks
from tests.infra.template import Resource, Template
from tests.support.each import each

FUNCTION = "AWS::Lambda::Function"
NEW_ACCOUNT = 10
"""Concurrent executions of all functions of an account that has asked for no more."""
NEW_ACCOUNT_MB = 3008
RUN_OF_CODE = 4
"""The request that asks, the job that drives the run, its machine, and a tool server that it calls."""


def functions(stacks: Stacks) -> dict[str, tuple[Template, Resource]]:
    """All but those of callers' code."""
    return {
        name: (template, function)
        for stack, template in stacks.templates.items()
        for name, function in template.of_type(FUNCTION).items()
        if stack != "sandbox"
    }


@of_each_stage
def test_the_functions_are_those_that_the_stage_needs(stacks: Stacks) -> None:
    isolated = stacks.stage.isolated.keys()
    assert {name.lower() for name in functions(stacks)} == stacks.stage.functions.keys() - isolated


@of_each_stage
def test_every_function_but_the_image_runs_on_the_interpreter_that_its_layers_are_for(stacks: Stacks) -> None:
    for name, (template, function) in functions(stacks).items():
        assert function["Architectures"] == [stacks.stage.architecture]
        if name == "Inference":
            continue
        assert (function["Runtime"], function["Handler"]) == ("python3.13", "handler.lambda_handler")
        model = {"<Model>"} if stacks.stage.model_in_gateway else set[str]()
        layers = {template.read(layer) for layer in function.get("Layers", ())}
        assert layers == (set() if name == "Rotate" else {"<Dependencies>", "<Product>", *model})


@of_each_stage
def test_every_function_writes_json_into_a_log_that_ends(stacks: Stacks) -> None:
    for name, (template, function) in functions(stacks).items():
        log = f"{name}Log"
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
        assert template.read(function["LoggingConfig"]["LogGroup"]) == f"<{log}>"
        assert template.of_type("AWS::Logs::LogGroup")[log]["RetentionInDays"] == stacks.stage.log_days


@of_each_stage
def test_no_log_outlives_its_stack_but_where_the_stage_retains(stacks: Stacks) -> None:
    """A log that stays keeps its name, and the next deployment fails because that exists: so none has a name of ours.

    The CDK makes a log with the name of a function for each function that has none.
    """
    policies = ("RetainExceptOnCreate", "Retain") if stacks.stage.retains else ("Delete", "Delete")
    for template in stacks.templates.values():
        for resource in template.resources.values():
            if resource["Type"] == "AWS::Logs::LogGroup":
                assert "LogGroupName" not in resource["Properties"]
                assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == policies
                assert resource["Properties"]["RetentionInDays"] == stacks.stage.log_days


@of_each_stage
def test_every_function_has_a_log_of_its_template_and_shares_it_with_no_other(stacks: Stacks) -> None:
    """Lambda itself creates a log that nothing deletes for a function that has none."""
    for template in stacks.templates.values():
        logs = [
            template.read(function["LoggingConfig"]["LogGroup"]) for function in template.of_type(FUNCTION).values()
        ]
        assert set(logs) <= {f"<{name}>" for name in template.of_type("AWS::Logs::LogGroup")}
        assert len(set(logs)) == len(logs)


@each("name", ["dev", "words only", "words", "no code", "no search"])
def test_dev_works_in_a_new_account(stacks_of: Synthesised, name: str) -> None:
    """It has 10 concurrent executions, of which none can be reserved: AWS leaves at least so many to all functions."""
    stacks = stacks_of(name)
    all_of_them = [one for template in stacks.templates.values() for one in template.of_type(FUNCTION).values()]
    assert not [one for one in all_of_them if "ReservedConcurrentExecutions" in one]
    assert not [one for one in all_of_them if one["MemorySize"] > NEW_ACCOUNT_MB]
    waiting = 2 if stacks.stage.infers else 1  # a function that calls the inference waits for it
    ingesting = sum(
        source["ScalingConfig"]["MaximumConcurrency"] * waiting
        for template in stacks.templates.values()
        for source in template.of_type("AWS::Lambda::EventSourceMapping").values()
    )
    assert ingesting + waiting + RUN_OF_CODE <= NEW_ACCOUNT


@of_each_stage
def test_every_function_is_traced(stacks: Stacks) -> None:
    for _, function in functions(stacks).values():
        assert function["TracingConfig"] == {"Mode": "Active"}


@of_each_stage
def test_every_function_has_the_size_of_its_stage(stacks: Stacks) -> None:
    for name, (_, function) in functions(stacks).items():
        size = stacks.stage.functions[name.lower()]
        seconds = size.timeout_s + (name == "Gateway")  # the API gives up first
        assert (function["MemorySize"], function["Timeout"]) == (size.memory_mb, seconds)
        assert function.get("ReservedConcurrentExecutions") == size.reserved_concurrency


@of_each_stage
def test_every_variable_is_a_setting_of_loci(stacks: Stacks) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in settings_by_name()}
    for _, function in functions(stacks).values():
        assert set(function.get("Environment", {}).get("Variables", {})) <= known


def test_the_gateway_has_thirty_seconds_whatever_callers_run(dev: Stacks) -> None:
    assert dev.stage.sandbox
    assert functions(dev)["Gateway"][1]["Timeout"] == 30


def test_an_errand_outlasts_every_run(dev: Stacks) -> None:
    runs = dev.sandbox.of_type(FUNCTION).values()
    assert functions(dev)["Errand"][1]["Timeout"] > max(run["Timeout"] for run in runs)


@each("name", ["Gateway", "Errand", "Ingest", "Connect", "Workflow"])
def test_loci_accepts_what_a_function_is_told(dev: Stacks, name: str) -> None:
    template, function = functions(dev)[name]
    told = {
        name.removeprefix(PREFIX).lower(): re.sub(r"[<>:]+", "-", template.read(value)).replace("https-//", "https://")
        for name, value in function["Environment"]["Variables"].items()
    }
    settings = Settings.model_validate(told)
    assert (settings.mode, settings.auth) == ("aws", "required")


@each("name", ["Gateway", "Errand", "Ingest"])
def test_who_uses_documents_is_told_where_things_are(dev: Stacks, name: str) -> None:
    template, function = functions(dev)[name]
    variables = {name: template.read(value) for name, value in function["Environment"]["Variables"].items()}
    places = ("LOCI_TABLE", "LOCI_BUCKET", "LOCI_SEARCH_URL", "LOCI_INFERENCE_FUNCTION")
    found = [variables[name] for name in places]
    assert found == ["<Table>", "<Bucket>", "https://<Domain.DomainEndpoint>", "loci-dev-inference"]


@each("name", ["Gateway", "Ingest"])
def test_who_uses_documents_is_told_that_the_index_is_in_s3_vectors(stacks_of: Synthesised, name: str) -> None:
    stacks = stacks_of("in vectors")
    _, function = functions(stacks)[name]
    variables = function["Environment"]["Variables"]
    assert (variables["LOCI_SEARCH"], variables["LOCI_VECTOR_BUCKET"]) == ("vectors", "loci-dev-vectors")
    assert "LOCI_SEARCH_URL" not in variables
    assert stacks.data.of_type("AWS::OpenSearchService::Domain") == {}


@of_each_stage
def test_only_who_signs_knows_where_the_signing_secret_is(stacks: Stacks) -> None:
    told = {
        name: template.read(function["Environment"]["Variables"]["LOCI_SECRETS_FROM"])
        for name, (template, function) in functions(stacks).items()
        if "LOCI_SECRETS_FROM" in function.get("Environment", {}).get("Variables", {})
    }
    serving = {"Gateway", "Workflow", *(["Errand"] if stacks.stage.sandbox else [])}
    assert told == dict.fromkeys(serving, "<Secret>")


def test_without_a_model_nobody_is_told_of_one(stacks_of: Synthesised) -> None:
    for _, function in functions(stacks_of("words only")).values():
        assert "LOCI_INFERENCE_FUNCTION" not in function.get("Environment", {}).get("Variables", {})


@each("name", ["Gateway", "Ingest"])
def test_who_uses_documents_is_told_where_the_model_of_its_layer_is(solo: Stacks, name: str) -> None:
    _, function = functions(solo)[name]
    variables = function["Environment"]["Variables"]
    assert (variables["LOCI_MODELS"], variables["LOCI_EMBEDDER"]) == ("/opt/models", "all-MiniLM-L6-v2")
    assert "LOCI_INFERENCE_FUNCTION" not in variables


def test_the_inference_is_told_the_models_of_the_stage(stacks_of: Synthesised) -> None:
    _, function = functions(stacks_of("language model"))["Inference"]
    assert function["Environment"]["Variables"] == {"LOCI_EMBEDDER": "all-MiniLM-L6-v2"}


def test_the_settings_of_a_stage_reach_the_gateway(stacks_of: Synthesised) -> None:
    variables = stacks_of("sign-in").gateway.one(FUNCTION)["Environment"]["Variables"]
    assert variables["LOCI_OIDC_ISSUER"] == "https://id.example.com"


def test_the_functions_that_answer_calls_are_told_where_traces_go(stacks_of: Synthesised) -> None:
    told = functions(stacks_of("traced"))
    variables = {name: function.get("Environment", {}).get("Variables", {}) for name, (_, function) in told.items()}
    traced = {name for name, given in variables.items() if "OTEL_EXPORTER_OTLP_ENDPOINT" in given}
    assert traced == {"Gateway", "Errand", "Workflow"}


def test_a_setting_that_loci_does_not_know_ends_the_synthesis() -> None:
    from infra.defaults import environment  # imports the CDK, which takes its time

    with pytest.raises(ValueError, match="Loci has no setting colour"):
        environment({"colour": "red"})
