"""What events show of arguments and names: sizes, and nothing that looks like a secret."""

import json

from loci.core.json import JsonObject
from loci.core.secrets_in_text import LONGEST_SHOWN, MOST_ARGUMENTS, argument_sizes, fit_to_show
from tests.support.each import each

SECRETS = (
    "loci_AbCdEfGhIjKlMnOpQrStUvWx",
    "sk-proj-0123456789abcdef",
    "ghp_0123456789abcdefABCDEF",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "AKIA0123456789ABCDEF",
)


def test_arguments_are_told_by_their_sizes() -> None:
    arguments = {"query": "hello", "limit": 5, "deep": {"a": 1, "b": 2}, "ids": [1, 2, 3], "on": True, "none": None}
    assert argument_sizes(arguments) == {
        "query": "5 characters",
        "limit": "number",
        "deep": "2 fields",
        "ids": "3 items",
        "on": "boolean",
        "none": "null",
    }


@each("name", ["password", "API_KEY", "accessToken", "client_secret", "Authorization", "cookie", "db_passphrase"])
def test_not_even_the_size_of_a_secret_is_told(name: str) -> None:
    assert argument_sizes({name: "hunter2"}) == {name: "***"}


@each("name", [*SECRETS, "my password is hunter2", "a\nb", "x" * 33, "", "naïve"])
def test_a_name_that_may_be_a_text_is_blank(name: str) -> None:
    assert argument_sizes({name: "text"}) == {"***": "***"}


def test_many_arguments_are_counted() -> None:
    sizes = argument_sizes({f"a{number}": 1 for number in range(MOST_ARGUMENTS + 5)})
    assert (len(sizes), sizes["…"]) == (MOST_ARGUMENTS + 1, "5 more")


@each(
    "secret",
    [
        *SECRETS,
        "Bearer abc.def",
        "password=hunter2",
        "token: abc123",
        '{"password": "correct horse"}',
        "client_secret='correct horse'",
        "Authorization: Basic YW5uOmh1bnRlcjI=",
        "X-Amz-Signature=0123abcd",
        "Cookie: loci_visit=abc",
        "npm_0123456789abcdef",
    ],
)
def test_secrets_in_any_text_are_fit_to_show(secret: str) -> None:
    fields: JsonObject = {"tool": f"server:{secret}", "deep": {"list": [f"x {secret} y"]}}
    assert secret not in json.dumps(fit_to_show(fields))


def test_the_password_in_an_address_is_fit_to_show() -> None:
    assert fit_to_show({"where": "https://ann:hunter2@example.com/mcp"}) == {"where": "https://***@example.com/mcp"}


def test_a_secret_that_is_cut_off_at_the_end_is_fit_to_show() -> None:
    text = "x" * (LONGEST_SHOWN - 8) + " " + SECRETS[0]
    assert "loci_" not in json.dumps(fit_to_show({"tool": text}))


def test_texts_are_short_and_in_one_line() -> None:
    [shown] = fit_to_show({"tool": "a\r\nid: 9\x1b[0m\u2028" + "x" * 1000}).values()
    assert isinstance(shown, str)
    assert len(shown) <= LONGEST_SHOWN
    assert shown.isprintable()
