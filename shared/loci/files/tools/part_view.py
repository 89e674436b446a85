"""The answer of `read_memory`: a part of a file as a text, and the call that reads what comes next."""

import json
from collections.abc import Mapping

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from loci.core.injections import warning_of
from loci.files.file import FileVersion, StoredFile
from loci.files.file_part import FilePart, NextPart
from loci.mcp.answers import is_none
from loci.search.inference import tokens_at_most

FRAME = 60
"""Tokens of the first and the last line, besides names."""


class FilePartView(BaseModel):
    id: str
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    version: int
    label: str = Field(description="the place, as to be cited")
    heading: str | None = Field(default=None, exclude_if=is_none)
    outline: str | None = Field(default=None, exclude_if=is_none)
    text: str
    remark: str | None = Field(default=None, exclude_if=is_none)
    next: dict[str, str | int] | None = Field(description="the arguments that read on; null: the end")


class PartAnswer(BaseModel):
    result: FilePartView


def frame(file: StoredFile, places: Mapping[str, str | None]) -> int:
    """About the most tokens of an answer besides outline and text."""
    return FRAME + tokens_at_most(file.full_path) + 2 * sum(tokens_at_most(one) for one in places.values() if one)


def part_answer(
    file: StoredFile, version: FileVersion, part: FilePart, places: Mapping[str, str | None]
) -> CallToolResult:
    """The part as a text that a model reads, and as fields."""
    view = FilePartView(
        id=file.id,
        name=file.name,
        path=file.shown_path,
        version=version.number,
        label=part.label,
        heading=" > ".join(part.heading) or None,
        outline=part.outline or None,
        text=part.text,
        remark=". ".join(filter(None, (part.remark, warning_of(part.text)))) or None,
        next=part.next and _call(file, version, part.next, places),
    )
    under = f", under {part.heading[-1]}" if part.heading else ""
    number = "" if version == file.current else f" (version {version.number})"
    lines = [
        f"{file.full_path}{number}, {part.label}{under}",
        view.remark,
        part.outline and f"Outline:\n{part.outline}",
    ]
    ended = f"Next is {part.next.what}: {_written(view.next)}" if part.next and view.next else "Nothing comes after it."
    text = "\n\n".join(filter(None, [*lines, part.text, ended]))
    structured = PartAnswer(result=view).model_dump(mode="json")
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)


def _call(
    file: StoredFile, version: FileVersion, next: NextPart, places: Mapping[str, str | None]
) -> dict[str, str | int]:
    """The arguments of the next call: of the same place if it names no other."""
    same = {} if next.arguments.keys() - {"offset"} else {name: text for name, text in places.items() if text}
    past = {} if version == file.current else {"version": version.number}
    return {"id": file.id, **same, **next.arguments, **past}


def _written(arguments: Mapping[str, str | int]) -> str:
    return (
        f"read_memory({', '.join(f'{name}={json.dumps(one, ensure_ascii=False)}' for name, one in arguments.items())})"
    )
