"""Whose data it is, and who asks."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from loci.core.ids import content_id

LONGEST_NAME = 512


@dataclass(frozen=True)
class Owner:
    """Whose data: a tenant and a subject in it, from verified credentials only.

    The empty tenant is Loci's own: no credential that names a tenant can reach it.
    """

    tenant: str
    subject: str

    def __post_init__(self) -> None:
        if not self.subject:
            raise ValueError("an owner needs a subject")
        for name in (self.tenant, self.subject):
            if len(name) > LONGEST_NAME:
                raise ValueError(f"an owner's names have at most {LONGEST_NAME} characters")
            name.encode("utf-8")  # a lone surrogate cannot be stored

    @cached_property
    def key(self) -> str:
        """Safe in every store and in logs: two owners never share it, and it tells no names."""
        return content_id(self.tenant, self.subject, length=32)


LOCAL = Owner("", "local")
"""The person at this machine."""

SYSTEM = Owner("", "system")
"""Loci itself: its keys and its ended sessions."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: an owner, how they were recognised, and what they may do."""

    owner: Owner
    proof: Literal["local", "key", "token"]
    scopes: frozenset[str] = field(default_factory=frozenset[str])
    expires: float | None = field(default=None, compare=False)
    """When what they showed is no longer good, where that is known."""


LOCAL_CALLER = Caller(LOCAL, "local")
