"""Services that LocalStack would serve otherwise: chosen with PROVIDER_OVERRIDE_<SERVICE>=<name>."""

from localstack.aws.skeleton import Skeleton
from localstack.aws.spec import load_service
from localstack.services.plugins import Service, aws_provider
from plux import PluginSpec


def _on_moto(api: str) -> PluginSpec:
    """Hands every operation to moto, as LocalStack itself would download a server."""

    def make() -> Service:
        from localstack.services.moto import call_moto  # takes a second: not before the first request

        model = load_service(api)
        operations = {name: lambda context, _request: call_moto(context) for name in model.operation_names}
        return Service(api, skeleton=Skeleton(model, operations))

    return aws_provider(api=api, name="moto")(make)


dynamodb = _on_moto("dynamodb")
dynamodbstreams = _on_moto("dynamodbstreams")


@aws_provider(api="s3", name="own_objects")
def s3() -> Service:
    """LocalStack's own, with objects of ours."""
    from localstack.services.s3.provider import S3Provider  # as above

    from bare_host.objects import Objects

    return Service.for_provider(S3Provider(Objects()))
