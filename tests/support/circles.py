"""The circles of tests, each run by one command (.github/CONTRIBUTING.md): `--circle test`, `--circle aws`, or all."""

import gc
import random
import re
import tomllib
import zlib
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

ROOT = Path(__file__).parents[2]
PROMISES = ROOT / "tests" / "parity"
WHOLE = {"test": ("tests/contract/", "tests/parity/", "tests/unit/"), "aws": ("tests/contract/", "tests/servers/")}
"""The folders that a circle takes whole, beside the tests that hold a promise and the smokes."""
SERVERS = {"aws", "models"}
OUTSIDE = SERVERS | {"browser", "clients", "conformance", "exhaustive"}
"""Marks of tests that need something from outside this machine, or minutes."""
WHOLLY_OUTSIDE = re.compile(rf"^pytestmark = .*mark\.({'|'.join(sorted(OUTSIDE))})\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("Loci")
    group.addoption("--circle", choices=["test", "aws", "all"], default="all", help="the tests of one command")
    group.addoption("--shard", default="1/1", metavar="K/N", help="every N-th module, from the K-th on")
    group.addoption("--shuffle", type=int, metavar="SEED", help="run the modules in a random order")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module without a test of the circle: importing all takes longer than many of them."""
    if not collection_path.name.startswith("test_"):
        return None
    circle, module = _circle(config), collection_path.relative_to(ROOT).as_posix()
    shard, shards = map(int, str(config.getoption("shard")).split("/"))
    if zlib.crc32(module.encode()) % shards != shard - 1:
        return True
    if circle == "all":
        return None
    text = collection_path.read_text(encoding="utf-8")
    if circle == "test" and WHOLLY_OUTSIDE.search(text):
        return True
    return None if module in _modules() or module.startswith(WHOLE[circle]) or "mark.smoke" in text else True


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> list[Any] | None:
    """Make no cases of a test that the circle does not take."""
    circle, test = _circle(collector.config), f"{collector.nodeid}::{name}"
    if circle == "all" or not name.startswith("test_") or test.startswith(WHOLE[circle]) or test in _promised():
        return None
    marks = [*collector.iter_markers(), *getattr(obj, "pytestmark", [])]
    return None if any(mark.name == "smoke" for mark in marks) else []


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect without looking for garbage: what is imported stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    circle = _circle(config)
    if circle != "all":
        here = {_function(item) for item in items if not _needs(item)}
        taken = {item.nodeid for item in items if _is_in(circle, item, here)}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in taken])
        items[:] = [item for item in items if item.nodeid in taken]
    if (seed := cast("int | None", config.getoption("shuffle"))) is not None:
        modules = sorted({_module(item) for item in items})
        random.Random(seed).shuffle(modules)
        items.sort(key=lambda item: modules.index(_module(item)))


def _circle(config: pytest.Config) -> str:
    return str(config.getoption("circle"))


def _is_in(circle: str, item: pytest.Item, here: AbstractSet[str]) -> bool:
    needs, test = _needs(item), _function(item)
    if circle == "test":
        return not needs
    if test.startswith(WHOLE[circle]):
        return needs == {"aws"} or (test in _promised() and test not in here and bool(needs) and needs <= SERVERS)
    # A promise is held by the test's other case, on this machine; the contracts hold that AWS is alike.
    return test not in here and bool(needs) and needs <= SERVERS


def _needs(item: pytest.Item) -> AbstractSet[str]:
    return OUTSIDE & {mark.name for mark in item.iter_markers()}


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@cache
def _promised() -> AbstractSet[str]:
    """The tests that hold a promise, so that none of them can fall out of `make test`."""
    promises: list[dict[str, Any]] = [
        promise
        for file in PROMISES.glob("*.toml")
        for promise in tomllib.loads(file.read_text(encoding="utf-8"))["promise"]
    ]
    return {test.partition("[")[0] for promise in promises for test in promise["tests"]}


@cache
def _modules() -> AbstractSet[str]:
    return {test.partition("::")[0] for test in _promised()}
