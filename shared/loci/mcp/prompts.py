"""Prompts: ways to work with documents, which call for the right tools with the user's own topic."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from loci.documents.prompt_templates import WAYS, PromptTemplate

LONGEST_ARGUMENT: Final = 4000
CALLED: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+(?=\()")
"""A tool in the text of a step."""
OF_ALL: Final = "all of them"


def listed() -> list[Prompt]:
    """The prompts as clients list them."""
    return [
        Prompt(
            name=way.name,
            title=way.title,
            description=way.description,
            arguments=[
                PromptArgument(
                    name=way.argument.name, description=way.argument.description, required=way.argument.required
                )
            ],
        )
        for way in WAYS
    ]


def prompted(way: PromptTemplate, arguments: Mapping[str, object], tools: Collection[str]) -> GetPromptResult:
    """The prompt with what the user gave, and the steps that these tools allow."""
    given = " ".join(str(arguments.get(way.argument.name) or "").split())
    if way.argument.required and not given:
        raise MCPError(INVALID_PARAMS, f"The prompt {way.name} needs an argument: {way.argument.name}")
    if len(given) > LONGEST_ARGUMENT:
        raise MCPError(INVALID_PARAMS, f"{way.argument.name} has more than {LONGEST_ARGUMENT} characters")
    steps = [step for step in way.steps if set(CALLED.findall(step)) <= set(tools)]
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    text = f"{way.task.format(given=given or OF_ALL)}\n\n{numbered}"
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=way.description, messages=[message])
