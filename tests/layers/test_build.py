"""The layers as they are uploaded: small enough, and built for Lambda's processor and interpreter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from layers import interpreter
from layers.build import LAMBDAS_LARGEST, LARGEST, SERVICES, Arch, Layers, build
from loci.web.page import PLACES

pytestmark = pytest.mark.aws  # it downloads the dependencies

MACHINES: dict[Arch, bytes] = {"x86_64": b"\x3e\x00", "arm64": b"\xb7\x00"}
MODEL = "all-MiniLM-L6-v2"
CLIENTS = """
import sys
sys.path.insert(0, sys.argv[1])
import boto3
for service in sys.argv[2:]:
    boto3.client(service, region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
"""
CLOSENESS = """
import sys
sys.path[:0] = sys.argv[1:]
import numpy
from loci.core.settings import load_settings
from loci.runtimes.local import local_inference
embedder, _ = local_inference(load_settings())
question = numpy.frombuffer(embedder.query("How long are backups kept?").vector, "<f4")
texts = ["Copies of the data are deleted after ninety days.", "The museum opens on Sundays at ten."]
near, far = (numpy.frombuffer(one.vector, "<f2").astype("<f4") @ question for one in embedder.passages(texts))
assert near > far + 0.1, (near, far)
"""


@pytest.fixture(scope="module", params=MACHINES)
def arch(request: pytest.FixtureRequest) -> Arch:
    return request.param


@pytest.fixture(scope="module")
def layers(arch: Arch) -> Layers:
    return build(arch)


@pytest.fixture(scope="module")
def with_model(arch: Arch) -> Layers:
    return build(arch, MODEL)


def libraries(layers: Layers) -> list[Path]:
    return sorted(layers.dependencies.rglob("*.so"))


def test_what_a_later_function_calls_is_not_pruned(layers: Layers) -> None:
    assert {"stepfunctions", "sqs", "events"} < SERVICES
    made = [sys.executable, "-IBS", "-c", CLIENTS, str(layers.dependencies / "python"), *sorted(SERVICES)]
    subprocess.run(made, check=True)


def test_a_model_fits_beside_them_into_what_lambda_accepts(with_model: Layers) -> None:
    sizes = with_model.sizes()
    assert sizes.keys() == {"dependencies", "product", "model"}
    assert sum(sizes.values()) < LAMBDAS_LARGEST


def test_what_runs_the_model_is_for_the_machine(with_model: Layers, arch: Arch) -> None:
    assert with_model.model
    found = sorted((with_model.model / "python").rglob("*.so*"))
    assert {file.read_bytes()[18:20] for file in found} == {MACHINES[arch]}
    assert not {file.name for file in (with_model.model / "python").iterdir()} & {"numpy", "models"}


def test_whoever_runs_the_function_can_read_the_model(with_model: Layers) -> None:
    assert with_model.model
    files = [file for file in (with_model.model / "models").rglob("*") if file.is_file()]
    assert {file.parent.name for file in files} == {MODEL}
    assert all(file.stat().st_mode & 0o444 == 0o444 for file in files)


def test_a_function_with_the_three_layers_embeds(with_model: Layers, arch: Arch, tmp_path: Path) -> None:
    python = interpreter.find()
    if python is None or MACHINES[arch] != Path(sys.executable).resolve().read_bytes()[18:20]:
        pytest.skip("it needs Lambda's interpreter on a machine with this processor")
    assert with_model.model
    folders = [str(folder / "python") for folder in (with_model.dependencies, with_model.product, with_model.model)]
    variables = {"LOCI_MODELS": str(with_model.model / "models"), "LOCI_DATA": str(tmp_path), "HOME": str(tmp_path)}
    environment = {"PATH": os.environ["PATH"], "LOCI_EMBEDDER": MODEL, **variables}
    subprocess.run([str(python), "-IBS", "-c", CLOSENESS, *folders], env=environment, check=True)


def test_both_together_leave_room(layers: Layers) -> None:
    assert sum(layers.sizes().values()) < LARGEST


def test_what_was_compiled_is_for_the_machine(layers: Layers, arch: Arch) -> None:
    assert libraries(layers)
    assert {file.read_bytes()[18:20] for file in libraries(layers)} == {MACHINES[arch]}  # ELF's e_machine


def test_what_was_compiled_is_for_the_interpreter(layers: Layers) -> None:
    tag = "cpython-" + interpreter.VERSION.replace(".", "")
    modules = [file for file in libraries(layers) if not file.parent.name.endswith(".libs")]  # which hold plain C
    assert [file.name for file in modules if tag not in file.name and "abi3" not in file.name] == []


def test_the_product_knows_its_version(layers: Layers) -> None:
    assert [path.name for path in (layers.product / "python").glob("loci_mcp-*.dist-info")]


def test_the_product_brings_its_pages(layers: Layers) -> None:
    static = layers.product / "python" / "loci" / "web" / "static"
    assert {"shell.html", "shell.js", "sign_in.html"} <= {path.name for path in static.iterdir()}
    for place in PLACES:
        assert {"page.html", "page.css"} <= {path.name for path in (static / place).iterdir()}


def test_nothing_names_the_machine_that_built_it(layers: Layers) -> None:
    here = str(Path(__file__).resolve().parents[2]).encode()
    for folder in (layers.dependencies, layers.product):
        assert [path for path in folder.rglob("*") if path.is_file() and here in path.read_bytes()] == []


def test_modules_come_with_bytecode_that_needs_no_check(layers: Layers) -> None:
    if interpreter.find() is None:
        pytest.skip(f"without a Python {interpreter.VERSION} on this machine the layers have no bytecode: install one")
    [compiled] = (layers.product / "python" / "loci" / "core").glob("__pycache__/ids.*.pyc")
    assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 0b01


def test_what_has_not_changed_is_not_built_again(layers: Layers, arch: Arch) -> None:
    before = layers.product.stat().st_ino
    assert build(arch).product.stat().st_ino == before


def test_a_cold_start_lists_the_tools_from_the_layer(layers: Layers) -> None:
    kept = json.loads((layers.product / "python" / "loci" / "tool-listing.json").read_text("utf-8"))
    loci, *rest = zip(("loci_mcp", "mcp", "pydantic"), kept["made_of"].split(), strict=True)
    assert (layers.product / "python" / "{}-{}.dist-info".format(*loci)).is_dir()
    for name, version in rest:
        assert (layers.dependencies / "python" / f"{name}-{version}.dist-info").is_dir()
    assert {"search_documents", "search_memory", "pml_search_tools"} <= {one["tool"]["name"] for one in kept["tools"]}
