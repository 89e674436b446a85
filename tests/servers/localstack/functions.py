"""Functions for tests: made, layered and invoked."""

import io
import json
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.servers.localstack.fixtures import Aws
from tests.servers.localstack.running import ACCOUNT

ROLE = f"arn:aws:iam::{ACCOUNT}:role/any"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Invoked:
    """What a function answered, and the name of its error if it failed."""

    body: Any
    error: str | None


def python(
    aws: Aws,
    source: str,
    *,
    main: str = "main",
    layers: Sequence[str] = (),
    seconds: int = 10,
    variables: Mapping[str, str] | None = None,
) -> str:
    """The name of a new function whose handler is `main` in this source."""
    return _make(
        aws,
        Runtime="python3.13",
        Handler=f"app.{main}",
        Timeout=seconds,
        Layers=list(layers),
        Code={"ZipFile": archive({"app.py": source})},
        Environment={"Variables": dict(variables or {})},
    )


def executable(aws: Aws, program: str, *, variables: Mapping[str, str]) -> str:
    """The name of a new function that brings its own runtime."""
    return _make(
        aws,
        Runtime="provided.al2023",
        Handler="none",
        Code={"ZipFile": archive({"bootstrap": program})},
        Environment={"Variables": dict(variables)},
    )


def image(
    aws: Aws,
    uri: str,
    *,
    command: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    seconds: int = 10,
) -> str:
    """The name of a new function that is a container image."""
    return _make(
        aws,
        PackageType="Image",
        Timeout=seconds,
        Code={"ImageUri": uri},
        ImageConfig={"Command": list(command)},
        Environment={"Variables": dict(variables or {})},
    )


def layer(aws: Aws, files: Mapping[str, str]) -> str:
    """The ARN of a new layer with these files."""
    published = aws("lambda").publish_layer_version(LayerName=unique("layer"), Content={"ZipFile": archive(files)})
    return str(published["LayerVersionArn"])


def invoke(aws: Aws, name: str, event: object = None) -> Invoked:
    """One synchronous call."""
    answer = aws("lambda").invoke(FunctionName=name, Payload=json.dumps(event))
    body = json.loads(answer["Payload"].read())
    return Invoked(body, body["errorType"] if "FunctionError" in answer else None)


def archive(files: Mapping[str, str]) -> bytes:
    """A zip file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return content.getvalue()


def unique(name: str) -> str:
    """A name that no other test uses."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def _make(aws: Aws, **settings: object) -> str:
    name = unique("function")
    aws("lambda").create_function(FunctionName=name, Role=ROLE, **settings)
    aws("lambda").get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig={"Delay": 0.05})
    return name
