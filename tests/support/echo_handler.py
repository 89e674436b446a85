"""A Lambda handler that answers with the event it was given; some paths make trouble. For `test_event_front.py`."""

import json
import os
import threading
from typing import Any

from .lambda_worker import Context

PICTURE = "iVBORw0KGgo="


def lambda_handler(event: dict[str, Any], context: Context) -> object:
    """Answer with the event, the process and the time that is left."""
    print("a line that is no answer")
    path: str = event.get("rawPath") or event["path"]
    match path:
        case "/raise":
            raise ValueError("not today")
        case "/hang":
            threading.Event().wait()
        case "/picture":
            return {
                "statusCode": 200,
                "headers": {"content-type": "image/png"},
                "body": PICTURE,
                "isBase64Encoded": True,
            }
        case _:
            pass
    seen = {"event": event, "process": os.getpid(), "left": context.get_remaining_time_in_millis()}
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(seen)}
