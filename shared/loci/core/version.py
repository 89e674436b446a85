"""The version of Loci that runs."""

import importlib.metadata

DISTRIBUTION = "loci-mcp"
"""The name on the package index, where `loci` is somebody else's. The package and the command are `loci`."""


def version() -> str:
    """Return the version, from the metadata of the installed distribution."""
    return importlib.metadata.version(DISTRIBUTION)
