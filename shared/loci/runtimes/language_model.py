"""The language model, where one is set."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from loci.core.settings import Settings
from loci.core.stores import RecordStore
from loci.search.language_model import LanguageModel

if TYPE_CHECKING:
    from loci.adapters.aws.clients import Clients


def language_model(settings: Settings, records: RecordStore, clients: "Clients | None") -> LanguageModel | None:
    """The one that is set, within the day's allowance of tokens."""
    if settings.language_model is None:
        return None
    from loci.adapters.language_model.allowance import DailyAllowance  # only where there is one
    from loci.adapters.language_model.checked_model import CheckedModel

    provider, _, name = settings.language_model.partition(":")
    if provider == "bedrock":
        from loci.adapters.aws.bedrock import BedrockModel

        writer = BedrockModel(name, clients)
    else:
        from loci.adapters.language_model.openai import OpenAiModel

        writer = OpenAiModel(name, settings.language_model_url, _key(settings, clients))
    return CheckedModel(writer, DailyAllowance(records, settings.language_model_daily_tokens, time.time))


def _key(settings: Settings, clients: "Clients | None") -> str | Callable[[], str] | None:
    if settings.language_model_key:
        return settings.language_model_key.get_secret_value()
    secret = settings.language_model_key_from
    if secret is None or clients is None:
        return None
    from loci.adapters.aws.secrets import read_key

    return partial(read_key, secret, clients)
