"""Two who look at the pages, on each runtime."""

from tests.surface.files.conftest import ann, bob, door

__all__ = ["ann", "bob", "door"]
