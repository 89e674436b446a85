"""Secrets are closed for their owner alone, with a key of this deployment or with one in KMS."""

from collections.abc import Callable, Iterator

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.kms_box import KEPT_SECONDS, KmsBox
from loci.adapters.local.secret_box import KeyringBox
from loci.core.errors import Misconfigured, Unavailable
from loci.core.signing import Keyring
from loci.core.stores import SecretBox, SecretUnreadable
from tests.contract.stores import ANN, BOB
from tests.support.each import each

TEXTS = ["t0p-s3cret", "", "ключ 🔑 鍵", "x" * 100_000]
OLD, NEW = "o" * 64, "n" * 64


@pytest.fixture(params=["keyring", pytest.param("kms", marks=pytest.mark.aws)])
def box(request: pytest.FixtureRequest) -> Iterator[SecretBox]:
    if request.param == "keyring":
        yield KeyringBox(Keyring([OLD]))
        return
    from tests.support.moto_aws import KEY, moto_aws  # `make test` needs no boto3

    with moto_aws():
        yield KmsBox(KEY, Clients())


@each("text", TEXTS)
def test_a_text_comes_back_as_it_was(box: SecretBox, text: str) -> None:
    closed = box.close(ANN, text)
    assert text == "" or text not in closed
    assert closed.isascii()
    assert box.open(ANN, closed) == text


def test_two_closings_of_a_text_do_not_look_alike(box: SecretBox) -> None:
    assert box.close(ANN, "a") != box.close(ANN, "a")


def test_another_owner_cannot_open_it(box: SecretBox) -> None:
    closed = box.close(ANN, "a")
    with pytest.raises(SecretUnreadable):
        box.open(BOB, closed)
    assert box.open(ANN, closed) == "a"
    with pytest.raises(SecretUnreadable):  # though its key is known by now
        box.open(BOB, closed)


def swapped(closed: str, at: int) -> str:
    return closed[:at] + ("A" if closed[at] != "A" else "B") + closed[at + 1 :]


CHANGES: list[Callable[[str], str]] = [
    lambda closed: swapped(closed, len(closed) // 3),
    lambda closed: swapped(closed, len(closed) // 2),
    lambda closed: swapped(closed, len(closed) - 8),
    lambda closed: closed[: len(closed) // 2],
    lambda closed: f"{closed}.{closed}",
    lambda _: "",
    lambda _: "closed",
    lambda _: "🔑",
]


@each("change", CHANGES)
def test_a_text_that_was_changed_is_refused(box: SecretBox, change: Callable[[str], str]) -> None:
    with pytest.raises(SecretUnreadable):
        box.open(ANN, change(box.close(ANN, "a secret")))


def test_after_a_rotation_the_old_secrets_open_until_theirs_is_gone() -> None:
    closed = KeyringBox(Keyring([OLD])).close(ANN, "a")
    rotated = KeyringBox(Keyring([NEW, OLD]))
    assert rotated.open(ANN, closed) == "a"
    assert KeyringBox(Keyring([NEW])).open(ANN, rotated.close(ANN, "b")) == "b"
    with pytest.raises(SecretUnreadable):
        KeyringBox(Keyring([NEW])).open(ANN, closed)


@pytest.mark.aws
def test_kms_is_asked_once_in_five_minutes_for_a_text() -> None:
    from tests.support.moto_aws import KEY, moto_aws

    with moto_aws():
        now = [0.0]
        clients, asked = Clients(), list[object]()

        def note(**_: object) -> None:
            asked.append(1)

        clients.kms.meta.events.register("provide-client-params.kms.Decrypt", note)
        box = KmsBox(KEY, clients, lambda: now[0])
        closed = box.close(ANN, "a")
        for _ in range(3):
            assert box.open(ANN, closed) == "a"
        assert len(asked) == 1
        now[0] += KEPT_SECONDS
        box.open(ANN, closed)
        assert len(asked) == 2


@pytest.mark.aws
def test_a_key_that_is_not_there_is_told() -> None:
    from tests.support.moto_aws import moto_aws

    with moto_aws(), pytest.raises(Unavailable, match="LOCI_SECRET_KEY"):
        KmsBox("alias/none", Clients()).close(ANN, "a")


def test_without_a_key_nothing_is_kept() -> None:
    with pytest.raises(Misconfigured, match="LOCI_SECRET_KEY"):
        KmsBox(None, Clients()).close(ANN, "a")
