"""The gateway: every MCP request of a deployed Loci, and the errands that it sends itself."""

from loci.compose import build_app
from loci.server.errands import errand_door
from loci.server.http import asgi
from loci.server.lambda_asgi import keep_alive

app = build_app()
lambda_handler = keep_alive(asgi(app), errand_door(app))
