"""The server under test in Lambda: built when the module is imported, as the deployed handler is."""

from loci.mcp.lambda_handler import keep_alive

from .serve_fixture import application

lambda_handler = keep_alive(application())
