"""The gateway function: it answers every MCP request, and runs the jobs that it sends to itself."""

from loci.compose import build_app
from loci.mcp.http.application import asgi
from loci.mcp.lambda_handler import keep_alive
from loci.mcp.lambda_jobs import errand_door

app = build_app()
lambda_handler = keep_alive(asgi(app), errand_door(app))
