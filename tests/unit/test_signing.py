"""Sealed tokens."""

from loci.core.signing import Keyring

OLD, NEW = "o" * 32, "n" * 32
CLAIMS = {"owner": "me", "until": 1.5}


def test_what_was_closed_is_opened() -> None:
    seal = Keyring([OLD]).seal("link")
    assert seal.open(seal.close({**CLAIMS})) == CLAIMS


def test_another_secret_opens_nothing() -> None:
    assert Keyring([NEW]).seal("link").open(Keyring([OLD]).seal("link").close({**CLAIMS})) is None


def test_another_purpose_opens_nothing() -> None:
    keyring = Keyring([OLD])
    assert keyring.seal("session").open(keyring.seal("link").close({**CLAIMS})) is None


def test_after_a_rotation_old_tokens_are_good_until_the_old_secret_goes() -> None:
    token = Keyring([OLD]).seal("link").close({**CLAIMS})
    assert Keyring([NEW, OLD]).seal("link").open(token) == CLAIMS


def test_after_a_rotation_the_new_secret_signs() -> None:
    token = Keyring([NEW, OLD]).seal("link").close({**CLAIMS})
    assert Keyring([NEW]).seal("link").open(token) == CLAIMS


def test_a_changed_token_opens_nothing() -> None:
    seal = Keyring([OLD]).seal("link")
    token = seal.close({**CLAIMS})
    assert all(seal.open(token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]) is None for at in range(40))


def test_text_that_is_no_token_opens_nothing() -> None:
    seal = Keyring([OLD]).seal("link")
    assert [seal.open(text) for text in ("", ".", "a.b", "é", "x" * 100_000)] == [None] * 5
