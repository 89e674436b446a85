"""What a stage costs: counted in its templates, and told in the README."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra.cost_tables import PROFILES, README, tables, with_tables
from infra.costs import Deployed, UnknownPrice, idle
from infra.costs_of_use import documents, pages, runs, searches, tool_calls, workflows
from tests.infra.conftest import Synthesised, of_each_stage
from tests.infra.synthesis import Stacks


def deployed(stacks: Stacks) -> Deployed:
    return Deployed.by(template.document for template in stacks.templates.values())


def of(type: str, **properties: Any) -> Deployed:
    template: Mapping[str, Any] = {"Resources": {"It": {"Type": type, "Properties": properties}}}
    return Deployed.by([template])


def test_the_readme_tells_what_the_script_counts(stacks_of: Synthesised) -> None:
    made = tables({name: deployed(stacks_of(name)) for name in PROFILES})
    readme = README.read_text("utf-8")
    assert readme == with_tables(readme, made), "run: make costs"


@of_each_stage
def test_every_resource_of_every_stage_has_a_price(stacks: Stacks) -> None:
    assert sum(idle(deployed(stacks)).values()) > 0


def test_a_resource_that_the_price_list_does_not_know_is_refused() -> None:
    with pytest.raises(UnknownPrice, match="AWS::EC2::NatGateway"):
        idle(of("AWS::EC2::NatGateway"))


def test_an_interface_endpoint_is_refused_because_it_costs_something_each_hour() -> None:
    with pytest.raises(UnknownPrice, match="gateway endpoints"):
        idle(of("AWS::EC2::VPCEndpoint", VpcEndpointType="Interface"))


def test_a_node_without_a_price_is_refused() -> None:
    domain = {"ClusterConfig": {"InstanceCount": 1, "InstanceType": "r9.large.search"}, "EBSOptions": {"VolumeSize": 9}}
    with pytest.raises(UnknownPrice, match=r"r9\.large\.search"):
        idle(of("AWS::OpenSearchService::Domain", **domain))


def test_an_image_of_unknown_size_is_refused() -> None:
    with pytest.raises(UnknownPrice, match="the image of transcribe"):
        idle(of("AWS::Lambda::Function", PackageType="Image", FunctionName="loci-dev-transcribe"))


def test_solo_costs_less_than_three_dollars_a_month(solo: Stacks) -> None:
    costs = idle(deployed(solo))
    assert sum(costs.values()) < 3
    assert {"keys", "secrets", "alarms", "Loci's own metrics", "container images"} <= costs.keys()


@of_each_stage
def test_a_page_that_stays_open_costs_less_than_half_a_cent_an_hour(stacks: Stacks) -> None:
    assert 0 < sum(pages(deployed(stacks)).values()) < 0.005


def test_each_call_costs_a_row_in_the_log_of_calls(solo: Stacks) -> None:
    """Those that the tasks of a workflow make, too; a page calls nothing."""
    stage = deployed(solo)
    row = 0.000_625 + 0.000_675  # to write a thousand, and to keep them for 90 days
    for costs, calls in ((searches, 1), (runs, 1), (tool_calls, 1), (workflows, 6)):
        assert costs(stage)["log of calls"] == pytest.approx(calls * row)
    assert "log of calls" not in pages(stage)


def test_an_alarm_costs_by_the_metrics_that_it_watches() -> None:
    four: list[dict[str, str]] = [{"Id": "a", "MetricStat": "one of a table"}] * 4 + [{"Expression": "a"}]
    assert idle(of("AWS::CloudWatch::Alarm", Metrics=four))["alarms"] == pytest.approx(0.40)
    assert idle(of("AWS::CloudWatch::Alarm", MetricName="Errors"))["alarms"] == pytest.approx(0.10)


def test_what_a_stage_lacks_costs_nothing(stacks_of: Synthesised) -> None:
    assert documents(deployed(stacks_of("no search"))) == {}
    assert runs(deployed(stacks_of("no code"))) == {}
    assert "firewall" not in searches(deployed(stacks_of("solo")))
    assert "CloudFront" not in searches(deployed(stacks_of("dev")))


def test_the_gateway_is_paid_while_it_waits_for_the_inference(stacks_of: Synthesised) -> None:
    by_words, by_meaning = (searches(deployed(stacks_of(name)))["functions"] for name in ("words only", "dev"))
    assert by_meaning > 2 * by_words
