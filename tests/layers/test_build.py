"""The layers as they are uploaded: small enough, and built for Lambda's processor and interpreter."""

from pathlib import Path

import pytest

from layers import interpreter
from layers.build import LARGEST, Arch, Layers, build

pytestmark = pytest.mark.aws  # it downloads the dependencies

MACHINES: dict[Arch, bytes] = {"x86_64": b"\x3e\x00", "arm64": b"\xb7\x00"}


@pytest.fixture(scope="module", params=MACHINES)
def arch(request: pytest.FixtureRequest) -> Arch:
    return request.param


@pytest.fixture(scope="module")
def layers(arch: Arch) -> Layers:
    return build(arch)


def libraries(layers: Layers) -> list[Path]:
    return sorted(layers.dependencies.rglob("*.so"))


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
    assert {"graph.html", "graph.css", "sign_in.html"} <= {path.name for path in static.iterdir()}
    assert (static / "graph" / "main.js").is_file()


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
