"""The secret of Loci at an issuer where people sign in: the gateway may read it, and nothing else may."""

from pathlib import Path

from tests.infra.synthesis import synthesise
from tests.infra.template import listed

SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:issuer-AbCdEf"


def test_only_the_gateway_reads_it(tmp_path: Path) -> None:
    settings = {"oidc_issuer": "https://id.example.com", "oidc_client_id": "loci", "oidc_client_secret_from": SECRET}
    stacks = synthesise(tmp_path, "dev", {"settings": settings}).templates
    readers = {
        name
        for name, template in stacks.items()
        for _, statement in template.statements()
        if "secretsmanager:GetSecretValue" in listed(statement["Action"])
        and SECRET in [template.read(one) for one in listed(statement["Resource"])]
    }
    assert readers == {"gateway"}
