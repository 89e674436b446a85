"""The gateway function: it answers every MCP request."""

import gc

gc.disable()  # until everything is loaded: looking for garbage meanwhile takes a tenth of a cold start

# First, and from here: the deeper an import is nested, the more often Python maps memory for its frames and unmaps it
# again. Below our own imports, the SDK's many models took a twelfth of a cold start longer.
import loci.mcp.sdk  # noqa: F401  # pyright: ignore[reportUnusedImport]
from loci.compose import build_app
from loci.mcp.http.application import asgi
from loci.mcp.lambda_handler import keep_alive

app = build_app()
lambda_handler = keep_alive(asgi(app), app.finish)
gc.freeze()
gc.enable()
