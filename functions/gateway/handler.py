"""The gateway: every MCP request of a deployed Loci."""

from loci.compose import build_app
from loci.server.http import asgi
from loci.server.lambda_asgi import keep_alive

lambda_handler = keep_alive(asgi(build_app()))
