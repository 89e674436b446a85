"""The CDK application: `python -m infra.app`, which the CDK's command line runs."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from infra.node import use_packaged_node
from infra.stage import BadStage, Stage, read_stage
from layers.build import Arch, Layers, build

if TYPE_CHECKING:
    from aws_cdk import App


def define(app: "App", layers: Callable[[Arch, str | None], Layers]) -> None:
    """Add the stacks of the stage that the context names to the app."""
    from aws_cdk import Stack, Validations  # importing the CDK starts Node, which must be found first
    from cdk_nag import AwsSolutionsChecks

    from infra.defaults import log_of
    from infra.runs import ERRAND
    from infra.stacks.connect import Connect
    from infra.stacks.data import Data
    from infra.stacks.errand import Errand
    from infra.stacks.gateway import Gateway
    from infra.stacks.inference import Inference
    from infra.stacks.ingest import Ingest
    from infra.stacks.operations import Operations
    from infra.stacks.sandbox import Sandbox
    from infra.stacks.workflows import Workflows
    from infra.workflow_runs import WORKFLOW

    stage = read_stage(app.node.try_get_context("stage"), app.node.try_get_context("stages"))
    folders = layers(stage.architecture, stage.model_in_gateway)
    data = Data(app, stage)
    gateway = Gateway(app, stage, folders, data)
    users: list[Stack] = [gateway]
    calls = [log_of(users[0], "gateway")]
    users.append(Connect(app, stage, folders, data))
    users[0].add_stack_dependency(users[-1])
    workflows = Workflows(app, stage, folders, data)
    workflows.add_stack_dependency(users[1])
    users[0].add_stack_dependency(workflows)
    calls.append(log_of(workflows, WORKFLOW))
    if stage.searches:
        users.append(Ingest(app, stage, folders, data))
    sandbox = Sandbox(app, stage, data) if stage.isolated else None
    if sandbox and stage.reads_files:
        users[-1].add_stack_dependency(sandbox)
    users.append(workflows)
    if sandbox and stage.sandbox:
        errand = Errand(app, stage, folders, data, stage.sandbox, workflows.function)
        errand.add_stack_dependency(sandbox)
        workflows.add_stack_dependency(sandbox)
        errand.add_stack_dependency(users[1])
        users[0].add_stack_dependency(errand)
        users.append(errand)
        calls.append(log_of(errand, ERRAND))
    for user in users:
        user.add_stack_dependency(data)  # on existing data they have no reference to it
    if stage.inference and stage.infers:
        inference = Inference(app, stage, stage.inference)
        for user in users:
            user.add_stack_dependency(inference)
    if not stage.localstack:  # LocalStack has no dashboards and no budgets, and nobody would get its alarms
        Operations(app, stage, data, calls, gateway.api_id)
        _tag(app, stage)  # nor does it bill
    Validations.of(app).add_plugins(AwsSolutionsChecks())


def _tag(app: "App", stage: Stage) -> None:
    """Tag all resources with the stage and the part of it, by which the bill can be split."""
    from aws_cdk import Stack, Tags

    for stack in filter(Stack.is_stack, app.node.children):
        Tags.of(stack).add("loci:stage", stage.name)
        Tags.of(stack).add("loci:part", stack.node.id.removeprefix(f"{stage.prefix}-"))


def main() -> None:
    """Write the templates to the folder that the CDK's command line names."""
    use_packaged_node()
    from aws_cdk import App  # see `define`

    app = App()
    try:
        define(app, build)
    except BadStage as error:
        sys.exit(str(error))
    app.synth()


if __name__ == "__main__":
    main()
