"""A stage of `cdk.json` is right, or refused with the key that is wrong."""

import json
from pathlib import Path
from typing import Any

import pydantic
import pytest

import infra.stage
from infra.stage import BadStage, Stage, read_stage
from tests.infra.conftest import CERTIFICATE, ORDERS
from tests.infra.synthesis import STAGES
from tests.support.each import each

MODEL = "all-MiniLM-L6-v2"


def changed(**changes: object) -> dict[str, Any]:
    return {"dev": {**STAGES["dev"], **changes}}


@each("name", STAGES)
def test_every_stage_that_is_shipped_can_be_read(name: str) -> None:
    assert read_stage(name, STAGES).name == name


def test_a_stage_is_like_another_but_for_what_it_says_itself() -> None:
    words, dev = read_stage("words", STAGES), read_stage("dev", STAGES)
    gone = dict.fromkeys(("inference", "sandbox", "extract", "firewall"))
    said = {
        one: getattr(words, one)
        for one in ("name", "removal", "throttle", "search", "alarms", "dashboard", "budget_usd")
    }
    assert words == dev.model_copy(update={**gone, **said})
    assert (words.search, words.removal) == ("vectors", "retain")


@each("other", ["nobody", "words", "mine", 1])
def test_a_stage_is_like_one_that_is_there_and_whole(other: object) -> None:
    with pytest.raises(BadStage, match="like: it must name a stage"):
        read_stage("mine", {**STAGES, "mine": {"like": other}})


@each("without", ["sandbox", ["sandboxes"], [1]])
def test_a_stage_can_only_be_without_what_the_other_has(without: object) -> None:
    with pytest.raises(BadStage, match="without: it must be a list of keys of a stage"):
        read_stage("mine", {**STAGES, "mine": {"like": "dev", "without": without}})


def test_a_stage_like_another_may_say_more() -> None:
    mine = read_stage("mine", {**STAGES, "mine": {"like": "dev", "without": ["sandbox"], "budget_usd": 7}})
    assert (mine.sandbox, mine.budget_usd) == (None, 7)


@each(
    ("changes", "complaint"),
    [
        ({"tool_functions": ["orders"]}, "tool_functions.0: String should match"),
        ({"tool_functions": [ORDERS.replace("orders", "loci-dev-run_python")]}, "Loci's own functions are no tool"),
        ({"edgee": True}, "edgee: Extra inputs are not permitted"),
        ({"edge": "yes"}, "edge: Input should be a valid boolean"),
        ({"removal": "snapshot"}, "removal: Input should be 'destroy' or 'retain'"),
        ({"log_days": 31}, "log_days: Input should be 1, 3, 5"),
        ({"gateway": {"memory_mb": 64, "timeout_s": 29}}, "gateway.memory_mb: Input should be greater than or equal"),
        ({"gateway": {"memory_mb": "1024", "timeout_s": 29}}, "gateway.memory_mb: Input should be a valid integer"),
        ({"edge": True, "firewall": None}, "edge needs the firewall"),
        ({"edge": False, "settings": {"oauth": "built-in"}}, "settings has oauth, which needs edge"),
        ({"settings": {"oauth": "yes"}}, "settings has oauth, which is off or built-in"),
        ({"settings": {"address_header": "x-mine"}}, "the stacks set LOCI_ADDRESS_HEADER themselves"),
        ({"firewall": True}, "firewall: Input should be a valid dictionary"),
        ({"budget_closes": True, "budget_usd": None}, "budget_closes needs budget_usd"),
        ({"alarms": "none"}, "alarms: Input should be 'all' or 'few'"),
        ({"model_in_gateway": "bge-small-en-v1.5"}, "model_in_gateway: Input should be 'all-MiniLM-L6-v2'"),
        ({"model_in_gateway": MODEL}, "model_in_gateway and inference exclude each other"),
        ({"model_in_gateway": MODEL, "inference": None, "search": "none"}, "for search, which is none"),
        (
            {"model_in_gateway": MODEL, "inference": None, "settings": {"embedder": "multilingual-e5-small"}},
            "another embedder than model_in_gateway",
        ),
        ({"opensearch": {"instance": "t3.small", "nodes": 1, "volume_gb": 10}}, "opensearch.instance: String should"),
        ({"alarm_email": "nobody"}, "alarm_email: String should match"),
        ({"settings": {"colour": "red"}}, "settings has 'colour', which is not a setting of Loci"),
        ({"settings": {"table": "mine"}}, "settings has 'table': the stacks set LOCI_TABLE themselves"),
        ({"edge": True, "domain": "loci.example.com"}, "domain and certificate must be set together"),
        ({"domain": "loci.example.com", "certificate": CERTIFICATE}, "CloudFront: it needs edge"),
        ({"certificate": CERTIFICATE.replace("us-east-1", "eu-west-1")}, "certificate: String should match"),
        ({"search": "serverless"}, "search: Input should be 'domain', 'vectors' or 'none'"),
        ({"search_url": "http://127.0.0.1:9200"}, "search_url is for LocalStack"),
        ({"search_url": "https://search.example.com"}, "search_url: String should match"),
        ({"ingest": {"memory_mb": 1769, "timeout_s": 300, "at_once": 1}}, "ingest.at_once: Input should be greater"),
        ({"ingest": {"memory_mb": 1769, "timeout_s": 29, "at_once": 2}}, "ingest.timeout_s: Input should be greater"),
        ({"errand": {"memory_mb": 1024, "timeout_s": 300}}, "errand.timeout_s must be longer than each timeout_s"),
        ({"workflow": {"memory_mb": 1024, "timeout_s": 399}}, "workflow.timeout_s must be 400 or more"),
        ({"settings": {"workflow_machine": "x"}}, "the stacks set LOCI_WORKFLOW_MACHINE themselves"),
        ({"settings": {"errand_function": "x"}}, "the stacks set LOCI_ERRAND_FUNCTION themselves"),
        ({"settings": {"search_url": "x"}}, "settings has 'search_url': the stacks set LOCI_SEARCH_URL themselves"),
        ({"settings": {"language_model_key": "k"}}, "keep it in a secret"),
        ({"settings": {"language_model_key_from": "loci/key"}}, "it must be an ARN"),
        ({"settings": {"oidc_client_secret": "k"}}, "keep it in a secret"),
        ({"settings": {"oidc_client_secret_from": "loci/key"}}, "it must be an ARN"),
        (
            {"opensearch": {"instance": "t3.small.search", "nodes": 1, "volume_gb": 10, "version": "2.17"}},
            "opensearch.version: String should",
        ),
        ({"localstack": True}, "LocalStack has neither CloudFront nor OpenSearch"),
    ],
)
def test_a_stage_that_is_wrong_is_refused_with_what_is_wrong(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadStage) as refused:
        read_stage("dev", changed(**changes))
    assert str(refused.value).startswith("Stage 'dev' in cdk.json: ")
    assert complaint in str(refused.value)


def test_the_readme_explains_every_key() -> None:
    readme = (Path(infra.stage.__file__).parent / "README.md").read_text("utf-8")
    assert [key for key in Stage.model_fields if key != "name" and f"`{key}" not in readme] == []


def test_a_key_that_is_missing_is_named() -> None:
    said = {name: value for name, value in STAGES["dev"].items() if name != "throttle"}
    with pytest.raises(BadStage, match="throttle: Field required"):
        read_stage("dev", {"dev": said})


def test_an_unknown_stage_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadStage, match=r"no stage 'production' in cdk\.json: choose one of solo, dev, prod, local"):
        read_stage("production", STAGES)


def test_stages_may_come_as_a_text_from_the_command_line() -> None:
    assert read_stage("dev", json.dumps(STAGES)) == read_stage("dev", STAGES)


def test_without_a_context_it_says_where_to_run() -> None:
    with pytest.raises(BadStage, match=r"beside cdk\.json"):
        read_stage(None, None)


def test_a_stage_cannot_be_changed() -> None:
    stage = read_stage("dev", STAGES)
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        setattr(stage, "edge", True)  # noqa: B010 (pyright would refuse it, too)
