"""Services that LocalStack would serve otherwise: chosen with PROVIDER_OVERRIDE_<SERVICE>=<name>."""

import threading

from localstack.aws.api import RequestContext, ServiceRequest, ServiceResponse
from localstack.aws.skeleton import Skeleton
from localstack.aws.spec import load_service
from localstack.services.plugins import Service, aws_provider
from plux import PluginSpec

# DynamoDB serves each request as one step; moto's checks and writes interleave where threads call it.
_ONE_AT_A_TIME = threading.Lock()


def _on_moto(api: str) -> PluginSpec:
    """Hands every operation to moto, as LocalStack itself would download a server."""

    def make() -> Service:
        from localstack.services.moto import call_moto  # takes a second: not before the first request

        def serve(context: RequestContext, _: ServiceRequest) -> ServiceResponse:
            with _ONE_AT_A_TIME:
                return call_moto(context)

        model = load_service(api)
        operations = dict.fromkeys(model.operation_names, serve)
        return Service(api, skeleton=Skeleton(model, operations))

    return aws_provider(api=api, name="moto")(make)


dynamodb = _on_moto("dynamodb")
dynamodbstreams = _on_moto("dynamodbstreams")


@aws_provider(api="s3", name="own_objects")
def s3() -> Service:
    """LocalStack's own, with objects of ours and the keys that AWS sends."""
    from localstack.services.s3.provider import S3Provider  # as above

    from bare_host.events import send_keys_as_they_are
    from bare_host.objects import Objects

    send_keys_as_they_are()
    return Service.for_provider(S3Provider(Objects()))
