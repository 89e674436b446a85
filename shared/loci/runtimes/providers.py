"""The others on whom a server relies, as the settings name them, and their secrets: a model, an issuer, messengers."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from loci.core.settings import Settings
from loci.core.stores import RecordStore

if TYPE_CHECKING:
    from pydantic import SecretStr

    from loci.events.notices import Messenger
    from loci.search.language_model import LanguageModel


class Providers:
    """The language model, the issuer's secret and the messengers that the settings name. Each runtime can use each."""

    def __init__(self, settings: Settings, records: RecordStore) -> None:
        self.settings = settings
        self.records = records

    def language_model(self) -> "LanguageModel | None":
        """The language model, within the day's allowance of tokens; None if none is named."""
        settings = self.settings
        if settings.language_model is None:
            return None
        from loci.adapters.language_model.checked_model import CheckedModel, DailyAllowance

        provider, _, name = settings.language_model.partition(":")
        if provider == "bedrock":
            from loci.adapters.aws.bedrock import BedrockModel

            model = BedrockModel(name)
        else:
            from loci.adapters.language_model.openai import OpenAiModel

            model = OpenAiModel(name, settings.language_model_url, secret_of(settings, "language_model_key"))
        return CheckedModel(model, DailyAllowance(self.records, settings.language_model_daily_tokens, time.time))

    def issuer_secret(self) -> str | None:
        """The secret of Loci at the issuer where people sign in. It is read at each sign-in, so it may be changed."""
        return _read(secret_of(self.settings, "oidc_client_secret"))

    def messengers(self) -> "list[Messenger]":
        """Make the messengers to the places that `notify` names. Secrets may be read."""
        from loci.adapters.webhook import Webhook
        from loci.core.settings import recipients, signing_key

        settings = self.settings
        stored = (_read(_stored(settings, "notify")) or "").split(",")
        words = [*(one.get_secret_value() for one in settings.notify), *(one.strip() for one in stored if one.strip())]
        secret = _read(secret_of(settings, "notify_secret"))
        key = signing_key(secret) if secret else None
        found: list[Messenger] = []
        for one in recipients(words, on_aws=settings.mode == "aws"):
            if one.kind == "sns":
                from loci.adapters.aws.clients import Clients
                from loci.adapters.aws.sns_topic import SnsTopic

                found.append(SnsTopic(one, Clients()))
            else:
                found.append(Webhook(one, key))
        return found


def secret_of(settings: Settings, name: str) -> str | Callable[[], str] | None:
    """The secret of a setting, or what reads it where `name_from` says."""
    given: SecretStr | None = getattr(settings, name)
    return given.get_secret_value() if given else _stored(settings, name)


def _read(secret: str | Callable[[], str] | None) -> str | None:
    return secret() if callable(secret) else secret


def _stored(settings: Settings, name: str) -> Callable[[], str] | None:
    """Return the reader of the secret that `name_from` names, on AWS."""
    where: str | None = getattr(settings.aws, f"{name}_from")
    if where is None or settings.mode == "embedded":
        return None
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.secrets import read_key

    return partial(read_key, where, Clients(), f"LOCI_{name.upper()}_FROM")
