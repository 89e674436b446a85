"""A CloudFormation template, read as people read it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

# What the CDK puts behind a construct's path.
HASH = re.compile(r"[0-9A-F]{8}$")
Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """One stack's; `exports` are those of all the stacks, with the parameters in Parameter Store that they create."""

    document: Mapping[str, Any]
    exports: Mapping[str, object]

    @property
    def resources(self) -> dict[str, Resource]:
        return self.document["Resources"]

    def of_type(self, type: str) -> dict[str, Resource]:
        """The resources of a type by name, each with its properties only."""
        return {
            plain(id): resource.get("Properties", {})
            for id, resource in self.resources.items()
            if resource["Type"] == type
        }

    def one(self, type: str) -> Resource:
        """The properties of the one resource of that type."""
        [found] = self.of_type(type).values()
        return found

    def whole(self, type: str) -> Resource:
        """The one resource of that type with what is beside its properties."""
        [found] = [resource for resource in self.resources.values() if resource["Type"] == type]
        return found

    def id(self, name: str) -> str:
        """The logical id of the resource that has this name without the CDK's hash."""
        [found] = [id for id in self.resources if plain(id) == name]
        return found

    def output(self, name: str) -> str:
        """An output's value, readable."""
        return self.read(self.document["Outputs"][name]["Value"])

    def read(self, value: Any) -> str:
        """A value with its references written as `<Name.Attribute>`, those to other stacks' followed."""
        match value:
            case {"Ref": str(id)}:
                stored = self.document.get("Parameters", {}).get(id, {}).get("Default")
                return self.read(self.exports[stored]) if stored in self.exports else f"<{plain(id)}>"
            case {"Fn::GetAtt": [str(id), str(attribute)]}:
                return f"<{plain(id)}.{attribute}>"
            case {"Fn::ImportValue": str(name)}:
                return self.read(self.exports[name])
            case {"Fn::Join": [str(between), parts]}:
                return between.join(self.read(part) for part in listed(parts))
            case _:
                return str(value)

    def statements(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every statement of every policy in the template, with the name of the resource that has it."""
        for id, resource in self.resources.items():
            for document in _documents(resource.get("Properties", {})):
                for statement in document["Statement"]:
                    yield plain(id), statement


def plain(id: str) -> str:
    """A logical id without the CDK's hash."""
    return HASH.sub("", id)


def listed(value: object) -> list[Any]:
    """A list, where CloudFormation takes one or several."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _documents(value: object) -> Iterator[dict[str, Any]]:
    """Whatever has statements, however deep."""
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        if "Statement" in known and "Version" in known:
            yield known
        for part in known.values():
            yield from _documents(part)
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from _documents(part)


def references(value: object) -> Iterator[str]:
    """The logical ids that a resource names in Ref, Fn::GetAtt, Fn::Sub and DependsOn."""
    match value:
        case {"Ref": str(id)}:
            yield id
        case {"Fn::GetAtt": [str(id), str(_)]}:
            yield id
        case {"Fn::GetAtt": str(path)}:
            yield path.partition(".")[0]
        case {"Fn::Sub": str(text)}:
            yield from re.findall(r"\$\{(\w+)[.}]", text)
        case dict():
            for name, part in cast("dict[str, object]", value).items():
                yield from (cast("list[str]", listed(part)) if name == "DependsOn" else references(part))
        case list():
            for part in cast("list[object]", value):
                yield from references(part)
        case _:
            pass
