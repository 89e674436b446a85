"""An image with a program of its own: the smallest client of the Lambda Runtime API."""

import json
import os
import urllib.request

INVOCATIONS = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"

while True:
    with urllib.request.urlopen(f"{INVOCATIONS}/next") as work:
        id, event = work.headers["Lambda-Runtime-Aws-Request-Id"], json.load(work)
    answer = json.dumps({"event": event, "color": os.environ["COLOR"]}).encode()
    urllib.request.urlopen(f"{INVOCATIONS}/{id}/response", answer).close()
