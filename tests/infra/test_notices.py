"""Telling a person on AWS: what asks may publish to the stage's topic and to no other, and knows where."""

from pathlib import Path

import pytest

from infra.stage import BadStage
from tests.infra.synthesis import synthesise
from tests.infra.template import listed
from tests.support.each import each

TOPIC = "arn:aws:sns:eu-west-1:123456789012:loci-asks"
SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hooks-AbCdEf"
ASKING = {"gateway", "workflows", "errand"}


def test_what_asks_may_publish_to_the_topic_and_read_the_other_addresses(tmp_path: Path) -> None:
    settings = {"notify": f"https://ops.example.com/loci, sns:{TOPIC}", "notify_from": SECRET}
    stacks = synthesise(tmp_path, "dev", {"settings": settings}).templates
    may = {
        (name, template.read(resource))
        for name, template in stacks.items()
        if name != "operations"  # the alarms have a topic of their own
        for _, statement in template.statements()
        if {"sns:Publish", "secretsmanager:GetSecretValue"} & {*listed(statement["Action"])}
        for resource in listed(statement["Resource"])
        if "sns:Publish" in listed(statement["Action"]) or template.read(resource) == SECRET
    }
    assert may == {(name, arn) for name in ASKING for arn in (TOPIC, SECRET)}
    for name in ASKING:
        variables = [one["Environment"]["Variables"] for one in stacks[name].of_type("AWS::Lambda::Function").values()]
        assert (settings["notify"], SECRET) in [
            (one.get("LOCI_NOTIFY"), one.get("LOCI_NOTIFY_FROM")) for one in variables
        ]


@each(
    ("settings", "complaint"),
    [
        ({"notify": "slack:https://hooks.slack.com/services/T/B/x"}, "keep it in a secret, and set notify_from"),
        ({"notify": f"sns:{TOPIC}.fifo"}, "number 1 in it is no place to tell a person"),
        ({"notify_secret": "whsec_x"}, "keep it in a secret, and set notify_secret_from"),
        ({"notify_from": "hooks"}, "it must be an ARN"),
    ],
)
def test_a_secret_or_a_wrong_place_is_refused(tmp_path: Path, settings: dict[str, str], complaint: str) -> None:
    with pytest.raises(BadStage, match=complaint):
        synthesise(tmp_path, "dev", {"settings": settings})
