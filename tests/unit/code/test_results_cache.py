"""The results that are remembered, for whom, and which make room."""

from loci.code.bridge import clients
from loci.code.ports import Completed, LogLine, Measured
from loci.code.typescript import ResultsCache, key_of
from loci.core.identity import Owner
from loci.sandbox.supervisor.deno_messages import RunLimits, TypeScriptJob
from tests.support.each import each

ANN, BOB, CAT = (Owner("t", name) for name in ("ann", "bob", "cat"))
GIVEN = Completed(4, None, steady=True)


def test_the_hundred_and_first_takes_the_place_of_the_one_not_used_for_longest() -> None:
    cache = ResultsCache()
    for number in range(100):
        cache.keep(ANN, str(number), GIVEN)
    assert cache.find(ANN, "0") is GIVEN
    cache.keep(ANN, "100", GIVEN)
    assert cache.find(ANN, "1") is None
    assert cache.find(ANN, "0") is GIVEN


def test_owners_have_their_own() -> None:
    cache = ResultsCache()
    cache.keep(ANN, "key", GIVEN)
    assert cache.find(BOB, "key") is None


def test_so_many_owners_are_remembered() -> None:
    cache = ResultsCache(owners=2)
    for owner in (ANN, BOB, CAT):
        cache.keep(owner, "key", GIVEN)
    assert [cache.find(owner, "key") for owner in (ANN, BOB, CAT)] == [None, GIVEN, GIVEN]


@each(
    "other",
    [
        Completed(4, None, steady=False),
        Completed(4, None, steady=True, measured=Measured(calls=1)),
        Completed("x" * 300_000, None, steady=True),
        Completed(4, None, steady=True, measured=Measured(logs=(LogLine("log", "x" * 300_000),))),
    ],
)
def test_what_may_differ_or_is_large_is_not_kept(other: Completed) -> None:
    cache = ResultsCache()
    cache.keep(ANN, "key", other)
    assert cache.find(ANN, "key") is None


def test_code_may_tell_the_order_of_the_contexts_keys() -> None:
    assert key_of(TypeScriptJob("1", {"a": 1, "b": 2})) != key_of(TypeScriptJob("1", {"b": 2, "a": 1}))


@each(
    "job",
    [
        TypeScriptJob("2"),
        TypeScriptJob("1", {"a": 1}),
        TypeScriptJob("1", limits=RunLimits(timeout_ms=1)),
        TypeScriptJob("1", limits=RunLimits(memory_mb=64)),
        TypeScriptJob("1", limits=RunLimits(read_paths=("/a",))),
        TypeScriptJob("1", clients=clients(["github:star"])),
        TypeScriptJob("1", listing=({"name": "github:star"},)),
    ],
)
def test_whatever_is_another_has_another_key(job: TypeScriptJob) -> None:
    assert key_of(job) != key_of(TypeScriptJob("1"))
