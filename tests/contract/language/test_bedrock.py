"""What only Bedrock can get wrong."""

import pytest

from loci.adapters.aws.bedrock import BedrockModel
from loci.core.errors import Unavailable
from tests.contract.language.asking import FITS, SCHEMA
from tests.support.each import each
from tests.support.stub_model import Fails, StubModel

pytestmark = pytest.mark.aws


class TestBedrock:
    def test_is_asked_for_the_argument_of_its_one_tool(self, bedrock: BedrockModel, stub: StubModel) -> None:
        stub.says(FITS)
        bedrock.write("?", SCHEMA, seconds=60, most_tokens=10)
        asked = stub.requests[0]
        tools = asked.body["toolConfig"]
        assert asked.path == "/model/anthropic.claude-test-v1%3A0/converse"
        assert asked.body["inferenceConfig"] == {"maxTokens": 10}
        assert [tool["toolSpec"]["inputSchema"]["json"] for tool in tools["tools"]] == [SCHEMA]
        assert tools["toolChoice"] == {"any": {}}

    @each(
        ("code", "status", "what_to_do"),
        [
            ("AccessDeniedException", 403, "bedrock:InvokeModel"),
            ("ResourceNotFoundException", 404, "LOCI_LANGUAGE_MODEL"),
            ("ValidationException", 400, "tools"),
            ("ThrottlingException", 429, "quota"),
        ],
    )
    def test_says_what_to_do(
        self, bedrock: BedrockModel, stub: StubModel, code: str, status: int, what_to_do: str
    ) -> None:
        stub.will(Fails(status, code))
        with pytest.raises(Unavailable) as raised:
            bedrock.write("?", SCHEMA, seconds=60, most_tokens=10)
        assert code in raised.value.what
        assert what_to_do in raised.value.resolution
