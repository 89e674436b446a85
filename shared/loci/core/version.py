"""The version of Loci that runs."""

DISTRIBUTION = "loci-mcp"
"""The name on the package index, where `loci` is somebody else's. The package and the command are `loci`."""


def version() -> str:
    """Return the version, from the metadata of the installed distribution."""
    from importlib.metadata import version  # few commands need it, and its mail parser takes a tenth of their start

    return version(DISTRIBUTION)
