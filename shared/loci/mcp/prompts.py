"""Prompts: a task and its steps, filled in with what the user gives and cut to the tools that are there."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

LONGEST_ARGUMENT: Final = 4000
CALLED_TOOL: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+(?=\()")
"""A tool in the text of a step."""
NO_ARGUMENT: Final = "all of them"


@dataclass(frozen=True, slots=True)
class Argument:
    """The one argument that the user gives."""

    name: str
    description: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A task and its steps. A step whose tools are missing is left out."""

    name: str
    title: str
    description: str
    argument: Argument
    task: str
    steps: tuple[str, ...]


def listed_prompt(template: PromptTemplate) -> Prompt:
    """The prompt as clients list it."""
    argument = PromptArgument(
        name=template.argument.name, description=template.argument.description, required=template.argument.required
    )
    return Prompt(name=template.name, title=template.title, description=template.description, arguments=[argument])


def filled_prompt(template: PromptTemplate, arguments: Mapping[str, object], tools: Collection[str]) -> GetPromptResult:
    """The prompt with the user's argument, and with the steps that these tools allow."""
    argument = template.argument
    given = " ".join(str(arguments.get(argument.name) or "").split())
    if argument.required and not given:
        raise MCPError(INVALID_PARAMS, f"The prompt {template.name} needs an argument: {argument.name}")
    if len(given) > LONGEST_ARGUMENT:
        raise MCPError(INVALID_PARAMS, f"{argument.name} has more than {LONGEST_ARGUMENT} characters")
    steps = [step for step in template.steps if set(CALLED_TOOL.findall(step)) <= set(tools)]
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    text = f"{template.task.format(given=given or NO_ARGUMENT)}\n\n{numbered}"
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=template.description, messages=[message])
