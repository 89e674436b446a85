"""The gateway function: it answers every MCP request, and runs the jobs that it sends to itself."""

import gc

gc.disable()  # until everything is loaded: looking for garbage meanwhile takes a tenth of a cold start

from loci.compose import build_app
from loci.mcp.http.application import asgi
from loci.mcp.lambda_handler import jobs_of, keep_alive

app = build_app()
lambda_handler = keep_alive(asgi(app), jobs_of(app))
gc.freeze()
gc.enable()
