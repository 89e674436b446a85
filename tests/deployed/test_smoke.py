"""`make smoke`, against a deployment that runs no code and reads only plain texts. `test_code.py` has one with code."""

import os
import re
import subprocess
from pathlib import Path

import anyio
import pytest
import yaml

from tests.deployed.deployment import Deployment
from tests.deployed.sessions import USE
from tests.deployed.smoke import walk
from tests.deployed.test_files import Lake
from tests.deployed.users import NewUser
from tests.servers.localstack.environments import ROOT
from tests.support.serving import clean_environment

pytestmark = [pytest.mark.aws, pytest.mark.smoke]
WORKFLOW = ROOT / ".github" / "workflows" / "deploy.yml"


def test_a_deployment_passes_and_says_what_it_lacks(deployment: Deployment, new_user: NewUser) -> None:
    door, user = deployment.door("REST API"), new_user()
    steps = anyio.run(walk, f"{door.url}/mcp", user.key)
    assert steps == {
        **dict.fromkeys(("document", "file", "plan", "person", "session", "end"), "ok"),
        **dict.fromkeys(("table", "Python", "TypeScript"), "SKIPPED"),
    }
    owners = Lake(door, user)
    assert owners.ask("list_directory_structure")["result"] == []
    assert owners.ask("get_memorylake_metadata")["result"]["total_files"] == 0


def test_the_workflow_that_deploys_asks_the_deployment_with_a_key_that_it_revokes(
    deployment: Deployment, tmp_path: Path
) -> None:
    job = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["deploy"]
    [script] = [one["run"] for one in job["steps"] if one.get("name") == "make smoke"]
    aws = tmp_path / "aws"  # the name in the stack's output needs a DNS
    aws.write_text(f"#!/bin/sh\necho {deployment.door('REST API').url}/mcp\n")
    aws.chmod(0o755)
    told = {"STAGE": "local", "PATH": f"{tmp_path}:{os.environ['PATH']}", "MAKEFLAGS": "-o .venv/.dev"}
    environment = clean_environment(tmp_path / "data", **told, **deployment.server.environment())
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [key] = re.findall(r"^::add-mask::(\S+)$", done.stdout, re.MULTILINE)
    assert deployment.door("REST API").post(USE, {"Authorization": f"Bearer {key}"}).status == 401
