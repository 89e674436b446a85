"""What is a secret, and what is not."""

from loci.core.secrets_in_text import secret_kind, secrets_in, without_secrets
from tests.support.each import each

RANDOM = "0123456789abcdefABCDEF0123456789abcd"
SECRETS = [
    ("AKIAIOSFODNN7EXAMPLE", "awsKey"),
    ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "secret"),
    (f"ghp_{RANDOM}", "githubToken"),
    (f"github_pat_11ABCDEFG0_{RANDOM}", "githubToken"),
    ("xox" + "b-123456789012-abcdefghijkl", "slackToken"),
    ("sk-" + "proj-abcdefghijklmnop1234", "apiKey"),
    ("sk-" + "ant-api03-abcdefghijklmnop", "apiKey"),
    ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "googleApiKey"),
    ("sk_" + "live_abcdefgh12345678", "stripeKey"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "jwt"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "privateKey"),
    ("Bearer abc123def456", "authorization"),
    ("Basic dXNlcjpwYXNz", "authorization"),
    ("https://bob:s3cret@host.example/x", "urlWithPassword"),
    ("Server=db;Password=hunter2;", "password"),
    ("zX81kQ0pLmN4vB7wR2tY6uI9", "secret"),
    ("d41d8cd98f00b204e9800998ecf8427e", "secret"),
]
PLAIN = [
    *(
        "read and parse JSON files",
        "https://api.example.com/v1/users?page=2",
        "application/json",
        "2026-01-17T12:34:56.000Z",
    ),
    *(
        "/usr/local/lib/python3.11/site-packages",
        "the token is valid",
        "basic understanding",
        "bearer of news",
        "user@host.example",
    ),
    *(
        "getUserAccountInformationById",
        "x-requested-with-credentials",
        "lorem-ipsum-dolor-sit-amet",
        "SELECT * FROM t",
        "#ff00aa",
    ),
    *(
        "count tokens: how many",
        "reset the password for a user",
        "AAAAAAAAAAAAAAAAAAAAAAAA",
        "key=value",
        "1234567890123456789012",
    ),
]


@each(("text", "kind"), SECRETS)
def test_a_secret_is_known_by_its_form(text: str, kind: str) -> None:
    assert secret_kind(text) == kind
    assert secret_kind(f"see: {text} and go on") == kind


@each("text", PLAIN)
def test_plain_texts_are_no_secrets(text: str) -> None:
    assert secrets_in(text) == []


@each("name", ["password", "API_KEY", "clientSecret", "x-api-key", "dbPassword", "accessKey"])
def test_a_value_is_a_secret_because_of_its_name(name: str) -> None:
    assert secret_kind("swordfish", name)


@each(("name", "value"), [("passwordField", "x1"), ("token", "end"), ("type", "password"), ("keys", "ab1")])
def test_a_name_that_is_only_like_one_hides_nothing(name: str, value: str) -> None:
    assert secret_kind(value, name) is None


def test_the_rest_of_a_text_stays() -> None:
    assert without_secrets(f"push with ghp_{RANDOM} to main") == "push with [secret] to main"


@each("part", ["a", "A1b", "eyJ", "sk-", "a://", "token", "token=", "bearer ", "-", "ghp_", "basic a"])
def test_a_long_hostile_text_is_scanned_in_linear_time(part: str) -> None:
    secrets_in(part * (100_000 // len(part)))
