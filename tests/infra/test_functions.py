"""Every function is made one way, and told only what Loci understands."""

import re

import pytest

from infra.stage import FunctionSize
from loci.settings import PREFIX, Settings
from tests.infra.conftest import Synthesised
from tests.infra.synthesis import Stacks
from tests.infra.template import Resource, Template

FUNCTION = "AWS::Lambda::Function"


def functions(stacks: Stacks) -> dict[str, tuple[Template, Resource]]:
    return {
        name: (template, function)
        for template in stacks.templates.values()
        for name, function in template.of_type(FUNCTION).items()
    }


def test_the_functions_are_those_that_have_a_folder(stacks: Stacks) -> None:
    assert set(functions(stacks)) == {"Gateway", "Rotate"}


def test_every_function_runs_on_the_interpreter_that_its_layers_are_for(stacks: Stacks) -> None:
    for template, function in functions(stacks).values():
        assert (function["Runtime"], function["Architectures"]) == ("python3.13", [stacks.stage.architecture])
        assert function["Handler"] == "handler.lambda_handler"
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
    stage = stacks.stage
    sizes: dict[str, tuple[FunctionSize, int]] = {"Gateway": (stage.gateway, 1), "Rotate": (stage.rotate, 0)}
    for name, (_, function) in functions(stacks).items():
        size, grace = sizes[name]
        assert (function["MemorySize"], function["Timeout"]) == (size.memory_mb, size.timeout_s + grace)
        assert function.get("ReservedConcurrentExecutions") == size.reserved_concurrency


def test_every_variable_is_a_setting_of_loci(stacks: Stacks) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for _, function in functions(stacks).values():
        assert set(function.get("Environment", {}).get("Variables", {})) <= known


def test_loci_accepts_what_the_gateway_is_told(stacks: Stacks) -> None:
    template, gateway = functions(stacks)["Gateway"]
    told = {
        name.removeprefix(PREFIX).lower(): re.sub(r"[<>:]+", "-", template.read(value)).replace("https-//", "https://")
        for name, value in gateway["Environment"]["Variables"].items()
    }
    settings = Settings.model_validate(told)
    assert (settings.mode, settings.auth) == ("aws", "required")
    assert settings.table
    assert settings.bucket
    assert settings.secrets_from


def test_the_gateway_is_told_where_its_things_are(stacks: Stacks) -> None:
    template, gateway = functions(stacks)["Gateway"]
    variables = {name: template.read(value) for name, value in gateway["Environment"]["Variables"].items()}
    places = ("LOCI_TABLE", "LOCI_BUCKET", "LOCI_SECRETS_FROM")
    assert [variables[name] for name in places] == ["<Table>", "<Bucket>", "<Secret>"]


def test_the_settings_of_a_stage_reach_the_gateway(stacks_of: Synthesised) -> None:
    variables = stacks_of("sign-in").gateway.one(FUNCTION)["Environment"]["Variables"]
    assert variables["LOCI_OIDC_ISSUER"] == "https://id.example.com"


def test_a_setting_that_loci_does_not_know_ends_the_synthesis() -> None:
    from infra.defaults import environment  # imports the CDK, which takes its time

    with pytest.raises(ValueError, match="Loci has no setting colour"):
        environment({"colour": "red"})
