"""What keeps something in the templates of a stage, and what an upgrade would lose of it.

`python -m tests.infra.stateful` renews `stateful.json`, the state that deployments have.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from infra.node import use_packaged_node
from tests.infra.synthesis import STAGES, Stacks, synthesise
from tests.infra.template import plain

SNAPSHOT = Path(__file__).with_name("stateful.json")
REPLACED_BY: dict[str, tuple[str, ...]] = {
    "AWS::ApiGateway::RestApi": (),
    "AWS::Backup::BackupVault": ("BackupVaultName", "EncryptionKeyArn"),
    "AWS::CloudFront::Distribution": (),
    "AWS::DynamoDB::Table": ("TableName", "ImportSourceSpecification", "KeySchema"),
    "AWS::KMS::Key": (),
    "AWS::OpenSearchService::Domain": (
        *("DomainName", "EngineMode", "EncryptionAtRestOptions/Enabled", "EncryptionAtRestOptions/KmsKeyId"),
        "AdvancedSecurityOptions/Enabled",
    ),
    "AWS::S3::Bucket": ("BucketName", "BucketNamePrefix", "BucketNamespace"),
    "AWS::S3Vectors::VectorBucket": ("VectorBucketName", "EncryptionConfiguration"),
    "AWS::SQS::Queue": ("QueueName", "FifoQueue"),
    "AWS::SecretsManager::Secret": ("Name",),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", "StateMachineType"),
}
"""Types that keep something: data, messages, running workflows, or the address that clients know.

With the properties whose change may replace one: `createOnlyProperties` and `conditionalCreateOnlyProperties` of
CloudFormation's resource schemas, as in cfn-lint 1.58.
"""
MADE_ANEW = ("OriginSecret",)
"""A new one is as good: one deployment writes it to everybody who reads it."""
WHAT_TO_DO = (
    "A deployment would lose what these keep, or end halfway. Keep the logical id (override_logical_id) and the "
    "properties. If a loss is meant, say in infra/README.md how to move what is kept, and renew the snapshot: "
    "python -m tests.infra.stateful"
)
Kept = Mapping[str, Any]


def kept(stacks: Stacks) -> dict[str, Any]:
    """What keeps something, by stack and logical id, and what stacks export: nobody may remove that in use."""
    found: dict[str, Any] = {}
    for stack, template in sorted(stacks.templates.items()):
        for id, resource in sorted(template.resources.items()):
            if (type := resource["Type"]) in REPLACED_BY and plain(id) not in MADE_ANEW:
                given = resource.get("Properties", {})
                fixed = {name: value for name in REPLACED_BY[type] if (value := _at(given, name)) is not None}
                found[f"{stack}/{id}"] = {"Type": type, **fixed}
        for output in template.document.get("Outputs", {}).values():
            if "Export" in output:
                found[f"{stack}/{output['Export']['Name']}"] = {"Type": "Export", "Value": output["Value"]}
    return found


def losses(before: Kept, after: Kept) -> Iterator[str]:
    """Say what a deployment of the later templates would remove or replace."""
    for name, was in before.items():
        now = after.get(name)
        if now is None:
            yield f"{name} ({was['Type']}) is removed"
        elif now != was:
            changed = sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))
            yield f"{name} ({was['Type']}) is replaced, because {', '.join(changed)} changed"


def snapshot() -> dict[str, Kept]:
    """What the stages kept when the snapshot was made."""
    return json.loads(SNAPSHOT.read_text("utf-8"))


def _at(properties: Mapping[str, Any], path: str) -> Any:
    name, _, rest = path.partition("/")
    value = properties.get(name)
    return _at(cast("Mapping[str, Any]", value or {}), rest) if rest else value


def main() -> None:
    """Write the snapshot anew, and print what deployments would lose."""
    use_packaged_node()
    before, after = snapshot(), dict[str, Kept]()
    for stage in STAGES:
        with tempfile.TemporaryDirectory() as folder:
            after[stage] = kept(synthesise(Path(folder), stage, {}))
        for loss in losses(before.get(stage, {}), after[stage]):
            print(f"{stage}: {loss}")
    lines = [
        f' "{stage}": {{\n'
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in all.items())
        + "\n }"
        for stage, all in after.items()
    ]
    SNAPSHOT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
