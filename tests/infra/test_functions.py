"""Every function is made one way, and told only what Loci understands."""

import re

import pytest

from loci.core.settings import PREFIX, Settings
from tests.infra.conftest import Synthesised
from tests.infra.synthesis import Stacks
from tests.infra.template import Resource, Template

FUNCTION = "AWS::Lambda::Function"


def functions(stacks: Stacks) -> dict[str, tuple[Template, Resource]]:
    """All but those of callers' code."""
    return {
        name: (template, function)
        for stack, template in stacks.templates.items()
        for name, function in template.of_type(FUNCTION).items()
        if stack != "sandbox"
    }


def test_the_functions_are_those_that_the_stage_needs(stacks: Stacks) -> None:
    of_runs = stacks.stage.sandbox.functions if stacks.stage.sandbox else {}
    assert {name.lower() for name in functions(stacks)} == stacks.stage.functions.keys() - of_runs


def test_every_function_but_the_image_runs_on_the_interpreter_that_its_layers_are_for(stacks: Stacks) -> None:
    for name, (template, function) in functions(stacks).items():
        assert function["Architectures"] == [stacks.stage.architecture]
        if name == "Inference":
            continue
        assert (function["Runtime"], function["Handler"]) == ("python3.13", "handler.lambda_handler")
        assert [template.read(layer) for layer in function["Layers"]] == ["<Dependencies>", "<Product>"]


def test_every_function_writes_json_into_a_log_that_ends(stacks: Stacks) -> None:
    for name, (template, function) in functions(stacks).items():
        log = f"{name}Log"
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
        assert template.read(function["LoggingConfig"]["LogGroup"]) == f"<{log}>"
        assert template.of_type("AWS::Logs::LogGroup")[log] == {"RetentionInDays": stacks.stage.log_days}


def test_every_function_is_traced(stacks: Stacks) -> None:
    for _, function in functions(stacks).values():
        assert function["TracingConfig"] == {"Mode": "Active"}


def test_every_function_has_the_size_of_its_stage(stacks: Stacks) -> None:
    for name, (_, function) in functions(stacks).items():
        size, runs = stacks.stage.functions[name.lower()], stacks.stage.sandbox
        seconds = size.timeout_s
        if name == "Gateway":  # it also drives runs of code
            seconds = max(seconds, runs.longest_s if runs else 0) + 1
        assert (function["MemorySize"], function["Timeout"]) == (size.memory_mb, seconds)
        assert function.get("ReservedConcurrentExecutions") == size.reserved_concurrency


def test_every_variable_is_a_setting_of_loci(stacks: Stacks) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for _, function in functions(stacks).values():
        assert set(function.get("Environment", {}).get("Variables", {})) <= known


@pytest.mark.parametrize("name", ["Gateway", "Ingest"])
def test_loci_accepts_what_a_function_is_told(dev: Stacks, name: str) -> None:
    template, function = functions(dev)[name]
    told = {
        name.removeprefix(PREFIX).lower(): re.sub(r"[<>:]+", "-", template.read(value)).replace("https-//", "https://")
        for name, value in function["Environment"]["Variables"].items()
    }
    settings = Settings.model_validate(told)
    assert (settings.mode, settings.auth) == ("aws", "required")


@pytest.mark.parametrize("name", ["Gateway", "Ingest"])
def test_who_uses_documents_is_told_where_things_are(dev: Stacks, name: str) -> None:
    template, function = functions(dev)[name]
    variables = {name: template.read(value) for name, value in function["Environment"]["Variables"].items()}
    places = ("LOCI_TABLE", "LOCI_BUCKET", "LOCI_SEARCH_URL", "LOCI_INFERENCE_FUNCTION")
    found = [variables[name] for name in places]
    assert found == ["<Table>", "<Bucket>", "https://<Domain.DomainEndpoint>", "loci-dev-inference"]


def test_only_the_gateway_knows_where_the_signing_secret_is(stacks: Stacks) -> None:
    told = {
        name: template.read(function["Environment"]["Variables"]["LOCI_SECRETS_FROM"])
        for name, (template, function) in functions(stacks).items()
        if "LOCI_SECRETS_FROM" in function.get("Environment", {}).get("Variables", {})
    }
    assert told == {"Gateway": "<Secret>"}


def test_without_a_model_nobody_is_told_of_one(stacks_of: Synthesised) -> None:
    for _, function in functions(stacks_of("words only")).values():
        assert "LOCI_INFERENCE_FUNCTION" not in function.get("Environment", {}).get("Variables", {})


def test_the_inference_is_told_the_models_of_the_stage(stacks_of: Synthesised) -> None:
    _, function = functions(stacks_of("language model"))["Inference"]
    assert function["Environment"]["Variables"] == {"LOCI_EMBEDDER": "all-MiniLM-L6-v2"}


def test_the_settings_of_a_stage_reach_the_gateway(stacks_of: Synthesised) -> None:
    variables = stacks_of("sign-in").gateway.one(FUNCTION)["Environment"]["Variables"]
    assert variables["LOCI_OIDC_ISSUER"] == "https://id.example.com"


def test_a_setting_that_loci_does_not_know_ends_the_synthesis() -> None:
    from infra.defaults import environment  # imports the CDK, which takes its time

    with pytest.raises(ValueError, match="Loci has no setting colour"):
        environment({"colour": "red"})
