"""A question that waits for a person, as they are told of it where they are: names, and where to answer.

It never has arguments, code, keys or a link that decides: whoever reads it must still prove to be that person.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from loci.core.identity import LOCAL, Owner
from loci.core.json import Json, JsonObject
from loci.core.secrets_in_text import fit_to_show
from loci.events.event import iso_time

LONGEST_TITLE: Final = 100
PAGE: Final = "/ui/runs"
_ODD: Final = re.compile(r"[^A-Za-z0-9_:-]")


@dataclass(frozen=True, slots=True)
class Notice:
    """One such question. What others chose in it (the title, names) is theirs, in one short line each."""

    id: str
    """The same at each try, so that a receiver knows it again."""
    at: float
    tool: str
    title: str
    asked_by: str
    run: str
    """The id of the workflow or of the call that waits."""
    checkpoint: str
    owner: str
    """Empty: the person at this machine."""
    page: str | None
    """None: no process has said yet at which address the pages are."""

    @property
    def what(self) -> str:
        """The question in one sentence."""
        return f"Loci waits for your answer: may it {f'call {self.tool}' if self.tool != 'code' else 'run code'}?"

    @property
    def facts(self) -> Iterator[tuple[str, str]]:
        """Further facts, each with its name."""
        if self.title:
            yield "Title", self.title
        if self.asked_by:
            yield "Asked by", self.asked_by
        if self.owner:
            yield "For", self.owner
        yield "When", f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M} UTC"
        yield "Id", self.run


def notice_of(id: str, owner: Owner, at: float, fields: JsonObject, base_url: str | None) -> Notice:
    """The notice of an event about an approval."""
    told = {name: value for name, value in fit_to_show(fields).items() if isinstance(value, str)}
    shown = str(fit_to_show({"owner": f"{owner.tenant}/{owner.subject}" if owner.tenant else owner.subject})["owner"])
    return Notice(
        id,
        at,
        told.get("tool") or "code",
        told.get("title", "")[:LONGEST_TITLE],
        told.get("asked_by", ""),
        told.get("workflow", ""),
        told.get("checkpoint", ""),
        "" if owner == LOCAL else shown,
        base_url and f"{base_url.rstrip('/')}{PAGE}",
    )


def as_json(notice: Notice) -> JsonObject:
    """The body for programs, in the form that Standard Webhooks recommends."""
    return {
        "type": "approval.asked",
        "timestamp": iso_time(notice.at),
        "data": {
            "text": notice.what,
            "tool": notice.tool,
            "title": notice.title,
            "asked_by": notice.asked_by,
            "workflow": notice.run,
            "checkpoint": notice.checkpoint,
            "owner": notice.owner,
            "page": notice.page,
        },
    }


def as_slack(notice: Notice) -> JsonObject:
    """The body for an incoming webhook of Slack. In rich text, only an element of its own is a link or a mention."""
    texts = [notice.what, *(f"\n{name}: {value}" for name, value in notice.facts)]
    parts: list[Json] = [*({"type": "text", "text": text} for text in texts)]
    if notice.page:
        parts.append({"type": "text", "text": "\n"})
        parts.append({"type": "link", "url": notice.page, "text": "Open the approvals"})
    rich: Json = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": parts}]}
    # What a phone shows first. Slack reads markup in it, and makes links of what looks like a host.
    return {"text": f"Loci waits for your answer: {_ODD.sub('_', notice.tool)}", "blocks": [rich]}


def as_teams(notice: Notice) -> JsonObject:
    """The body for a webhook of Teams' Workflows. A text run of a card has no Markdown, and no mentions."""
    texts = [notice.what, *(f"{name}: {value}" for name, value in notice.facts)]
    card: JsonObject = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]} for text in texts],
    }
    if notice.page:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the approvals", "url": notice.page}]
    attachment: Json = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def as_text(notice: Notice) -> str:
    """The notice for a mail."""
    lines = [notice.what, "", *(f"{name}: {value}" for name, value in notice.facts)]
    return "\n".join([*lines, "", f"Answer at {notice.page}"] if notice.page else lines)
