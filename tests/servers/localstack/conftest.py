"""A LocalStack, and clients of its services."""

from tests.servers.localstack.fixtures import aws, server

__all__ = ["aws", "server"]
