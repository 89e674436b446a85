"""The dates of documents: days as people write them, and the lines that label them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from itertools import islice
from typing import Final

MONTHS: Final = (
    "january jan januar jänner janvier enero ene gennaio gen janeiro januari tammikuu tammikuuta január ianuarie"
    " января ocak",
    "february feb februar février févr febrero febbraio fevereiro fev februari helmikuu helmikuuta február februarie"
    " февраля şubat",
    "march mar märz mrz mars marzo março maart mrt marts maaliskuu maaliskuuta március martie марта mart",
    "april apr avril avr abril abr aprile huhtikuu huhtikuuta április aprilie апреля nisan",
    "may mai mayo maggio mag maio mei maj toukokuu toukokuuta május мая mayıs",
    "june jun juni juin junio giugno giu junho kesäkuu kesäkuuta június iunie июня haziran",
    "july jul juli juillet juil julio luglio lug julho heinäkuu heinäkuuta július iulie июля temmuz",
    "august aug août agosto ago augustus augusti elokuu elokuuta augusztus августа ağustos",
    "september sep sept septembre septiembre settembre set setembro syyskuu syyskuuta szeptember septembrie сентября"
    " eylül",
    "october oct oktober okt octobre octubre ottobre ott outubro out lokakuu lokakuuta október octombrie октября ekim",
    "november nov novembre noviembre novembro marraskuu marraskuuta noiembrie ноября kasım",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro desember joulukuu joulukuuta decembrie"
    " декабря aralık",
)
"""The names of each month in the languages whose words Loci stems."""
NUMBER_OF: Final = {name: number for number, names in enumerate(MONTHS, 1) for name in names.split()}

NUMERIC_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_/.]?)(\d\d)\2(\d\d)(?!\d)")
# 17.1.2026 and 2026年1月17日.
DOTTED_DAY = re.compile(r"(?<![\w.])(\d{1,2})\.\s?(\d{1,2})\.\s?((?:19|20)\d\d)(?!\d)")
CHINESE_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)年(\d{1,2})月(\d{1,2})日")
DAY_FIRST = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th|er|º|ª)?\.?\s+(?:de\s+|di\s+)?([^\W\d_]{3,12})\.?,?\s+(?:de\s+|del\s+)?((?:19|20)\d\d)\b",
    re.IGNORECASE,
)
MONTH_FIRST = re.compile(r"\b([^\W\d_]{3,12})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)\b", re.IGNORECASE)
SHORT_DAY = re.compile(r"(?<![\d.])((?:19|20)\d\d)([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
DAY_FORMS = (
    (NUMERIC_DAY, 1, 3, 4),
    (DOTTED_DAY, 3, 2, 1),
    (CHINESE_DAY, 1, 2, 3),
    (DAY_FIRST, 3, 2, 1),
    (MONTH_FIRST, 3, 1, 2),
)
"""All that looks like a day, the surest forms first, with the groups of the year, the month and the day."""
LABELLED_FORMS = (*DAY_FORMS, (SHORT_DAY, 1, 3, 4))
"""Behind a label, 2020/1/5 is a day, too. Elsewhere it may be a version."""


def first_day(text: str) -> str | None:
    """Return the first valid day in the text, as YYYY-MM-DD. It reads 2026-01-17, 17.1.2026, 17 January 2026, …"""
    return next((day for _, day in _days(text, DAY_FORMS)), None)


def days_in(text: str) -> list[date]:
    """Return all valid days in the text."""
    return [date.fromisoformat(day) for _, day in _days(text, DAY_FORMS)]


def _days(text: str, forms: Iterable[tuple[re.Pattern[str], int, int, int]]) -> Iterator[tuple[int, str]]:
    """Yield the places and days of a text, form by form."""
    for pattern, year, month, day in forms:
        for found in pattern.finditer(text):
            name = found[month].casefold()
            number = int(name) if name.isdecimal() else NUMBER_OF.get(name)
            if number is not None:
                with suppress(ValueError):  # the calendar has no such day
                    yield found.start(), date(int(found[year]), number, int(found[day])).isoformat()


LINES: Final = 60
"""Lines with text in which a label is read: what labels a document stands at its top."""
LONGEST_LINE: Final = 200
MOST_WORDS: Final = 4
"""Words of a label."""
# The words of a label, by what they say: the day that the text is of, its publication, its making, its last change.
OF_TEXT = """
    date start day meeting decided accepted proposed adopted as-of
    datum tag sitzung stand beschlossen dato møde mote møte möte vergadering date-de réunion décidé fecha reunión
    decidido data riunione deciso reunião data-ședinței дата встреча совещание päivämäärä kokous dátum ülés tarih
    toplantı التاريخ 日期 日付 会议 会議 날짜
"""
OF_PUBLICATION = """
    released published publication publicación pubblicazione publicação veröffentlichung release posted issued effective
    veröffentlicht erschienen freigegeben publié publiée paru parution publicado publicada lanzado pubblicato
    pubblicata rilasciato lançado gepubliceerd uitgebracht publicerad släppt utgivet publiceret udgivet publisert
    julkaistu megjelent publicat опубликовано выпущено yayınlandı 发布 发布于 发布日期 公開 公開日 発行日 게시일
"""
OF_MAKING = """
    created written started begun drafted
    erstellt verfasst begonnen créé créée rédigé creado creada escrito creato creata scritto criado criada
    gemaakt geschreven skapad skriven oprettet skrevet opprettet luotu létrehozva creat создано oluşturuldu
    创建 创建于 创建日期 作成 作成日 작성일
"""
OF_CHANGE = """
    updated modified revised changed edited reviewed
    aktualisiert geändert überarbeitet modifié modifiée révisé actualizado actualizada modificado aggiornato
    aggiornata modificato atualizado atualizada bijgewerkt gewijzigd uppdaterad ändrad opdateret ændret oppdatert
    endret päivitetty frissítve módosítva actualizat обновлено изменено güncellendi 更新 更新于 更新日期 更新日 수정일
"""
BESIDE = """
    last first initially originally the of in on at zuletzt am der le la de du el del il di della da do den på
"""
"""Words that may stand beside those of a kind: `date of publication`, `publié le`. Any other word, such as *due*, makes
the label one of another day.
"""
KINDS: Final = tuple(frozenset(text.split()) for text in (OF_TEXT, OF_PUBLICATION, OF_MAKING, OF_CHANGE))
"""Words by kind. The kind that comes first says the date of a document that has several."""
KNOWN: Final = frozenset(BESIDE.split()).union(*KINDS)
EDGES: Final = re.compile(r"^[\s>|*_#+\-–—`\[(]+|[\s|*_`\])]+$")
LABEL: Final = re.compile(
    r"((?:[^\W\d_]|[' -])+?)[*_`)\]]*(?:\s*\([^()]*\))?\s*(?:[:：|=]|\s[-–—]\s|$|(?=\s\d)|(?=\d))"
)
TAGS: Final = re.compile(r"^\s*(?:<[A-Za-z][^<>]{0,80}>\s*)+")
"""The HTML before a label: `<small>Released December 23, 2022</small>`."""
SEPARATORS: Final = re.compile(r"[\s:：|=*_`–—-]+")
BEFORE_DAY: Final = 60
"""Characters between the label and its day: `(fill me in with today's date, 2014-03-11)`."""


def labelled_day(prose: Iterable[str]) -> str | None:
    """Return the day, as YYYY-MM-DD, that a label among the first lines gives as the document's."""
    lines = list(islice((line for line in prose if line.strip()), LINES))
    best: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        found = _labelled(line, lines[at + 1] if at + 1 < len(lines) else "")
        if found and (best is None or found[0] < best[0]):
            best = found
    return best[1] if best else None


def _labelled(line: str, below: str) -> tuple[int, str] | None:
    """Return the kind of the label with its day. A label that is a heading has its day on the line below."""
    if len(line) > LONGEST_LINE:
        return None
    plain = EDGES.sub("", TAGS.sub("", line))
    if (label := LABEL.match(plain)) is None:
        return None
    name, end = label[1], label.end()
    before, _, month = name.rstrip().rpartition(" ")
    if month.casefold() in NUMBER_OF:  # the day begins with its month: `Released December 23, 2022`
        name, end = before, len(before)
    if (kind := _kind(name)) is None:
        return None
    rest = plain[end:]
    if not SEPARATORS.sub("", rest):
        rest = EDGES.sub("", below) if line.lstrip().startswith("#") and len(below) <= LONGEST_LINE else ""
        day = _day(rest, within=0)
    else:
        day = _day(rest, within=BEFORE_DAY)
    return (kind, day) if day else None


def _kind(label: str) -> int | None:
    """Return the kind of the day that a label names, by its place in `KINDS`; None if it names no date of the text."""
    words = label.casefold().split()
    if len(words) > MOST_WORDS or not KNOWN.issuperset(words):
        return None
    kinds = [kind for kind, names in enumerate(KINDS) if not names.isdisjoint(words)]
    return kinds[-1] if kinds else None  # the date of publication is that of the publication


def _day(text: str, *, within: int) -> str | None:
    """Return the first day that begins within the first `within` characters of the text."""
    at, day = min(_days(text, LABELLED_FORMS), default=(within + 1, ""))
    return day if at <= within else None
