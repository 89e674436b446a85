"""Requests are signed as AWS's own SDK signs them."""

from datetime import UTC, datetime
from unittest import mock

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from loci.sandbox.lambda_host.questions import LentCredentials, signed
from tests.support.each import each

NOW = 1_763_800_000.0
LENT = LentCredentials("ASIAEXAMPLE", "secret/+=", "token+/=")


@each("body", [b"", b'{"TableName": "loci"}', "é".encode()])
def test_a_request_is_signed_as_the_sdk_signs_it(body: bytes) -> None:
    headers = {
        "Host": "dynamodb.eu-south-2.amazonaws.com",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "DynamoDB_20120810.Query",
    }
    request = AWSRequest("POST", f"https://{headers['Host']}/", headers=dict(headers), data=body)
    moment = datetime.fromtimestamp(NOW, UTC)
    with mock.patch("botocore.auth.get_current_datetime", return_value=moment):
        SigV4Auth(Credentials(LENT.id, LENT.secret, LENT.token), "dynamodb", "eu-south-2").add_auth(request)
    ours = signed(LENT, "eu-south-2", "dynamodb", headers, body, NOW)
    assert ours["Authorization"] == request.headers["Authorization"]
