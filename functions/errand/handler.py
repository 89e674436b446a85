"""The errand function: it drives the runs of code that the gateway sends it, and answers their tool calls."""

from loci.compose import build_app
from loci.mcp.lambda_handler import job_handler

app = build_app()
lambda_handler = job_handler(app, app.finish)
