"""The version of Loci that is installed."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("loci")
