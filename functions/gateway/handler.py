"""The gateway function: it answers every MCP request, and runs the jobs that it sends to itself."""

from loci.compose import build_app
from loci.mcp.http.application import asgi
from loci.mcp.lambda_handler import jobs_of, keep_alive

app = build_app()
lambda_handler = keep_alive(asgi(app), jobs_of(app))
