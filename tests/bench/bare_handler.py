"""The bare server's Lambda function; BARE_JSON=1 makes it answer legacy calls as JSON."""

import os

from tests.bench.bare import bare_app, pinned

lambda_handler = pinned(bare_app(json=os.environ.get("BARE_JSON") == "1"))
