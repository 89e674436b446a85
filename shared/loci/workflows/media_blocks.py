"""The images, sounds and files that tasks gave, as blocks of the answer about their run."""

from contextlib import suppress
from typing import Final

from mcp_types import AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent
from pydantic import ValidationError

from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.workflows.api import Workflows

BLOCKS: Final = {"image": ImageContent, "audio": AudioContent, "resource": EmbeddedResource}


def media_blocks(workflows: Workflows, owner: Owner, answer: JsonObject) -> list[ContentBlock]:
    """The blocks that belong behind the answer, those of each task behind a text with its id."""
    content: list[ContentBlock] = []
    told = ""
    for task, block in workflows.watching.media(owner, answer):
        if task != told:
            content.append(TextContent(type="text", text=f"From task {task}:"))
            told = task
        with suppress(ValidationError):  # code made it
            content.append(BLOCKS[str(block["type"])].model_validate(block))
    return content
