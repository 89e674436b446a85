"""What runs a model in the gateway finds the numpy that it was locked with: that of the other layer."""

import re

from layers.build import INFERENCE_LOCK, LOCK, RUN_MODELS


def versions(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))


def test_both_locks_have_the_same_versions() -> None:
    functions, inference = (versions(file.read_text("utf-8")) for file in (LOCK, INFERENCE_LOCK))
    both = functions.keys() & inference.keys()
    assert "numpy" in both
    assert {name: functions[name] for name in both} == {name: inference[name] for name in both}


def test_what_the_model_layer_adds_is_locked_and_not_there_twice() -> None:
    assert set(RUN_MODELS) <= versions(INFERENCE_LOCK.read_text("utf-8")).keys()
    assert not set(RUN_MODELS) & versions(LOCK.read_text("utf-8")).keys()
