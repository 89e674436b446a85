"""Each image can be built from what Docker is given, and has all that its program needs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from loci.code.packages import find_deno
from loci.sandbox.supervisor.fork_server_client import DRAWING, PACKAGES, READERS
from tests.infra import built_image
from tests.infra.built_image import QUESTIONS, explained
from tests.infra.docker_context import copies, laid_out, sent
from tests.infra.images import Image, images
from tests.infra.synthesis import assembly
from tests.support.deno import needs_deno
from tests.support.executors import runner_packages
from tests.support.serving import clean_environment

ROOT = Path(__file__).resolve().parents[2]
IMAGES = sorted(folder.parent.name for folder in (ROOT / "functions").glob("*/Dockerfile"))
SANDBOXES = ["extract", "run_deno", "run_python"]
TASK = "var/task"
ANSWER = """
import json, sys, handler
print(json.dumps(handler.lambda_handler(json.load(sys.stdin), None)))
handler.runs.close()
"""
SYNTHESISE = """
import sys
from pathlib import Path
from infra.node import use_packaged_node
use_packaged_node()
from tests.infra.synthesis import synthesise
Path(sys.argv[1]).mkdir()
synthesise(Path(sys.argv[1]), sys.argv[2], {})
"""
QUIET = {
    "run_python": "import loci.sandbox.lambda_host.python_function as f; f.PythonRuns.prepare = lambda s: None; ",
    "extract": "import loci.sandbox.lambda_host.file_function as f; f.FileReads.prepare = lambda s: None; ",
}
"""What keeps a handler from starting processes."""
SAID = {
    "inference": "print(handler.lambda_handler({'ask': 'models'}, None))",
    "run_python": "print(handler.runs)",
    "run_deno": "print(handler.runs)",
    "extract": "print(handler.runs)",
}


def test_base_images_are_pinned_by_digest_and_actions_by_commit() -> None:
    dockerfiles = [file.read_text("utf-8") for file in (ROOT / "functions").glob("*/Dockerfile")]
    bases = [base for text in dockerfiles for base in re.findall(r"^FROM (\S*[./]\S*)", text, re.MULTILINE)]
    workflows = [file.read_text("utf-8") for file in (ROOT / ".github" / "workflows").glob("*.yml")]
    used = [action for text in workflows for action in re.findall(r"^\s*- uses: (\S+)", text, re.MULTILINE)]
    assert len(bases) >= len(IMAGES)
    assert len(used) >= len(workflows)
    assert len({*bases}) == 1, "all images stand on one base"
    assert not [base for base in bases if not re.search(r":3\.13@sha256:[0-9a-f]{64}$", base)]
    assert not [action for action in used if not re.search(r"@[0-9a-f]{40}$", action)]


@pytest.fixture(scope="module")
def built(assembly_of_dev: Path) -> dict[str, Image]:
    return images(assembly_of_dev)


@pytest.fixture(scope="module", params=IMAGES)
def image(request: pytest.FixtureRequest, built: dict[str, Image]) -> Image:
    return built[request.param]


def test_every_dockerfile_is_an_image_of_dev(built: dict[str, Image]) -> None:
    assert sorted(built) == IMAGES


def test_docker_finds_everything_that_is_copied(image: Image) -> None:
    visible = set(sent(image.context))
    assert image.source["dockerFile"] in visible
    wanted = [source for one in copies(image.dockerfile) if one.of_context for source in one.sources]
    assert wanted
    assert [source for source in wanted if not any(f"{path}/".startswith(f"{source}/") for path in visible)] == []


def test_docker_is_sent_nothing_that_is_not_copied(image: Image) -> None:
    """Otherwise a change of another image, or bytecode of this machine, would build a new one."""
    also = {image.source["dockerFile"], ".dockerignore"}
    copied = [source for one in copies(image.dockerfile) if one.of_context for source in one.sources]
    wanted = tuple(f"{source}/" for source in (*copied, *also))
    assert [path for path in sent(image.context) if not f"{path}/".startswith(wanted)] == []
    staged = {str(file.relative_to(image.context)) for file in image.context.rglob("*") if file.is_file()}
    assert {path for path in staged if "__pycache__" in path} == set()
    assert staged == {*sent(image.context), *also}


def test_its_handler_imports_only_what_is_in_it(image: Image, tmp_path: Path) -> None:
    """Of the packages only the inference needs any; of Loci nothing but what was copied is on the path."""
    laid_out(image.context, image.dockerfile, tmp_path)
    flags = [] if image.name == "inference" else ["-S"]
    program = f"{QUIET.get(image.name, '')}import handler; {SAID[image.name]}"
    told = {"LOCI_RUNNER": "/opt/runner", "LOCI_DENO": "/opt/deno/deno", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *flags, "-B", "-c", f"{program}; import loci; print(loci.__file__)"],
        env=clean_environment(tmp_path / "data", PYTHONPATH=str(tmp_path / TASK), **told),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(tmp_path / TASK / "loci" / "__init__.py")


def test_its_command_is_a_handler_that_is_in_it(image: Image, tmp_path: Path) -> None:
    laid_out(image.context, image.dockerfile, tmp_path)
    [command] = re.findall(r'^CMD \["(\w+)\.(\w+)"\]$', image.dockerfile, re.MULTILINE)
    module = tmp_path / TASK / f"{command[0]}.py"
    assert f"def {command[1]}(" in module.read_text("utf-8")


@needs_deno
@pytest.mark.parametrize("name", SANDBOXES)
def test_its_handler_runs_code_with_what_is_in_it(built: dict[str, Image], name: str, tmp_path: Path) -> None:
    laid_out(built[name].context, built[name].dockerfile, tmp_path)
    told = {"LOCI_RUNNER": str(runner_packages()), "LOCI_DENO": str(find_deno(None)), "TMPDIR": str(tmp_path)}
    question = QUESTIONS[name]
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-c", ANSWER],
        input=json.dumps(question.event),
        env=clean_environment(tmp_path / "data", PYTHONPATH=str(tmp_path / TASK), **told),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert question.is_right(answer), explained(answer)


@pytest.mark.parametrize("name", SANDBOXES)
def test_an_interpreter_without_variables_finds_its_libraries(built: dict[str, Image], name: str) -> None:
    """Lambda's Python finds libpython through LD_LIBRARY_PATH, which the sandbox's children do not get."""
    runs = _last_stage(built[name].dockerfile)
    [registered] = [at for at, line in enumerate(runs) if "/var/lang/lib" in line and "ldconfig" in line]
    proofs = [at for at, line in enumerate(runs) if line.startswith("RUN env -i ")]
    assert proofs
    assert all(registered < at for at in proofs)
    assert any("python" in runs[at] for at in proofs)


def test_each_package_that_is_imported_for_callers_is_proven_when_the_image_is_built(built: dict[str, Image]) -> None:
    [proof] = [line for line in _last_stage(built["run_python"].dockerfile) if "/opt/runner/bin/python -I" in line]
    assert proof.startswith("RUN env -i ")
    proven = set(re.findall(r"[\w.]+", proof.partition("import ")[2]))
    packages = {one for one in PACKAGES if not one.startswith("loci.")}
    assert {*packages, *DRAWING, "cloudpickle", "duckdb"} <= proven


def test_each_parser_is_proven_when_the_image_is_built(built: dict[str, Image]) -> None:
    [proof] = [line for line in _last_stage(built["extract"].dockerfile) if "/opt/runner/bin/python -B" in line]
    assert proof.startswith("RUN env -i ")
    proven = set(re.findall(r"[\w.]+", proof.partition("import ")[2]))
    assert {*READERS, "cloudpickle", "onnxruntime", "PIL.Image", "Ocr"} <= proven


def test_deno_is_proven_when_the_image_is_built(built: dict[str, Image]) -> None:
    lines = _last_stage(built["run_deno"].dockerfile)
    assert [line for line in lines if re.search(r"env -i \S+ /opt/deno/deno eval", line)]


def test_the_inference_is_proven_when_the_image_is_built(built: dict[str, Image]) -> None:
    lines = _last_stage(built["inference"].dockerfile)
    assert [line for line in lines if re.search(r"^RUN python .*import handler, .*onnxruntime", line)]


def test_a_stage_without_images_is_written_where_there_is_no_docker(tmp_path: Path) -> None:
    """Node and Python are enough for it: whatever would call Docker finds no program of that name."""
    environment = clean_environment(tmp_path / "data", PATH=str(tmp_path), CDK_DOCKER=str(tmp_path / "no-docker"))
    done = subprocess.run(
        [sys.executable, "-c", SYNTHESISE, str(tmp_path / "words"), "words"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = assembly(tmp_path / "words")
    assert list(written.glob("*-gateway.template.json"))
    assert images(written) == {}


def test_the_workflow_builds_each_image_and_has_it_answer(built: dict[str, Image]) -> None:
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]["images"]
    assert sorted(job["strategy"]["matrix"]["image"]) == sorted(built) == sorted(QUESTIONS)
    assert job["steps"][-1]["run"] == "make image IMAGE=${{ matrix.image }}"


def test_an_image_is_built_and_asked_as_a_deployment_and_lambda_do(
    assembly_of_dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for Docker: the order of the commands and their options are ours, and can be wrong."""
    called = tmp_path / "called"
    docker = tmp_path / "docker"
    docker.write_text(
        f'#!/bin/sh\necho "$(pwd): $*" >> {called}\ncase $1 in port) echo 127.0.0.1:1;; run) echo box;; esac\n'
    )
    docker.chmod(0o755)
    monkeypatch.setattr(built_image, "DOCKER", str(docker))

    def post(url: str, body: bytes) -> dict[str, object]:
        return {"url": url, "body": json.loads(body)}

    monkeypatch.setattr(built_image, "post", post)
    image = images(assembly_of_dev)["run_deno"]
    answer = built_image.ask(built_image.build(image), {"asked": 1})
    assert answer == {"url": "http://127.0.0.1:1/2015-03-31/functions/function/invocations", "body": {"asked": 1}}
    build, run, *rest = called.read_text().splitlines()
    options = "--tag loci-run_deno:built --file functions/run_deno/Dockerfile --platform linux/amd64 ."
    assert build == f"{image.context.resolve()}: build {options}"
    assert "--read-only" in run
    assert [line.partition(": ")[2] for line in rest] == ["port box 8080/tcp", "logs box", "rm --force box"]


def _last_stage(dockerfile: str) -> list[str]:
    """The instructions of the stage that is the image."""
    lines = dockerfile.replace("\\\n", " ").splitlines()
    return lines[max(at for at, line in enumerate(lines) if line.startswith("FROM ")) :]
