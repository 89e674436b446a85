"""What S3 tells EventBridge. AWS sends a key as it is; LocalStack encodes it, as in a message to a queue."""

from dataclasses import replace
from urllib.parse import unquote

from localstack.services.s3.notifications import EventBridgeNotifier, S3EventNotificationContext


def send_keys_as_they_are() -> None:
    """Make it so."""
    payload = EventBridgeNotifier._get_event_payload

    def plain(ctx: S3EventNotificationContext, config_id: str | None = None) -> object:
        return payload(replace(ctx, key_name=unquote(ctx.key_name)), config_id)

    EventBridgeNotifier._get_event_payload = staticmethod(plain)
