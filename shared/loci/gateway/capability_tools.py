"""The tools that find and forget capabilities: code that worked."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.gateway.capabilities.matching import FoundCapability
from loci.gateway.tools import is_unset
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App


class CapabilityVersionView(BaseModel):
    id: str
    success_rate: float
    reuse_count: int


class InputView(BaseModel):
    name: str
    type: str = Field(description="of its last value")


class CapabilityView(BaseModel):
    id: str
    intent: str
    match_score: float
    success_rate: float = Field(description="a lower bound")
    reuse_count: int
    tools_used: list[str]
    code: str
    needs: list[str] | None = Field(default=None, description="keys that `context` must have", exclude_if=is_unset)
    inputs: list[InputView] | None = Field(
        default=None, description="keys of `context` that differed between runs", exclude_if=is_unset
    )
    unproven: bool | None = Field(default=None, description="true: it failed too often", exclude_if=is_unset)
    other_versions: list[CapabilityVersionView] | None = Field(
        default=None, description="other code for this; search for the id", exclude_if=is_unset
    )
    why: str | None = Field(default=None, exclude_if=is_unset)


class CapabilitiesAnswer(BaseModel):
    capabilities: list[CapabilityView]
    suggestions: list[CapabilityView] | None = Field(default=None, exclude_if=is_unset)
    message: str | None = Field(default=None, exclude_if=is_unset)


class DeletedCapability(BaseModel):
    deleted: str
    intent: str


def capability_tools(app: "App") -> list[LociTool]:
    """`pml_search_capabilities` and `pml_delete_capability`."""

    def search_capabilities(
        intent: Annotated[str, Field(description="what you want to do, or a capability's id", max_length=2000)],
        caller: Caller,
        include_suggestions: bool = False,
    ) -> CapabilitiesAnswer:
        """Find code that worked before for a similar intent.

        Run its `code` unchanged with pml_execute_code, with the same `intent`; `context` gives what it `needs`. If you
        want a tool, use pml_search_tools.
        """
        found = app.tools.capabilities.find(caller.owner, intent, suggestions=include_suggestions)
        here = [capability_view(one) for one in found.capabilities]
        nothing = "Nothing fits. " if found.searched else "Nothing is learned yet. "
        return CapabilitiesAnswer(
            capabilities=here,
            suggestions=[capability_view(one) for one in found.suggestions] if include_suggestions else None,
            message=None if here else f"{nothing}Code that pml_execute_code runs with an intent is learned if it works",
        )

    def delete_capability(
        capability_id: Annotated[str, Field(description="its id", max_length=200)], caller: Caller
    ) -> DeletedCapability:
        """Forget learned code, with all its versions, if it is wrong or no longer wanted."""
        gone = app.tools.capabilities.delete(caller.owner, capability_id)
        return DeletedCapability(deleted=gone.id, intent=gone.intent)

    return [
        loci_tool(search_capabilities, title="Find code that worked", id="pml:search_capabilities"),
        loci_tool(
            delete_capability,
            title="Forget learned code",
            id="pml:delete_capability",
            writes=True,
            destructive=True,
        ),
    ]


def capability_view(found: FoundCapability) -> CapabilityView:
    """The capability with its code."""
    capability, shown = found.capability, found.version
    others = [one for one in reversed(capability.versions) if one.number != shown.number]
    return CapabilityView(
        id=capability.id,
        intent=capability.intent,
        match_score=round(found.match, 3),
        success_rate=round(shown.success_rate, 3),
        reuse_count=shown.reuse_count,
        tools_used=[*shown.tools],
        code=found.stored.code,
        needs=[*found.stored.needs] or None,
        inputs=[InputView(name=one.name, type=one.shape) for one in found.stored.inputs if one.differs] or None,
        unproven=None if shown.is_proven else True,
        other_versions=[
            CapabilityVersionView(
                id=f"{capability.id}.{one.number}",
                success_rate=round(one.success_rate, 3),
                reuse_count=one.reuse_count,
            )
            for one in others
        ]
        or None,
        why=found.why,
    )
