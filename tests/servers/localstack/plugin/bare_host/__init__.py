"""Plugins that let LocalStack run without Docker, without downloads and on loopback only."""
