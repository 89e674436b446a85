"""The summary of a file without a language model: its title, its kind and size, its period and its main tables."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise

from loci.files.reading import Format, Reading, TableSection, TextSection

LONGEST = 400
"""Characters of a summary."""
LONGEST_TITLE, LONGEST_COLUMN = 100, 40
MOST_TABLES, MOST_COLUMNS = 3, 3
FIRST_TABLES, FIRST_TEXTS, FIRST_ROWS = 40, 60, 2_000
"""The parts of a large file that are looked at."""
SHARE_OF_DATES = 0.7
"""A column with this part of dates is one of dates."""
KINDS: dict[Format, tuple[str, str]] = {
    "xlsx": ("workbook", "sheet"),
    "xls": ("workbook", "sheet"),
    "ods": ("workbook", "sheet"),
    "csv": ("csv file", ""),
    "tsv": ("tsv file", ""),
    "pdf": ("PDF", "page"),
    "pptx": ("presentation", "slide"),
    "docx": ("Word document", ""),
    "html": ("web page", ""),
    "json": ("JSON file", ""),
    "md": ("note", ""),
    "txt": ("text", ""),
    "png": ("picture", ""),
    "jpg": ("picture", ""),
    "gif": ("picture", ""),
    "webp": ("picture", ""),
    "svg": ("picture", ""),
}
"""The name of a format, and of the parts that its size is told in."""
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
DATE = re.compile(r"(?:19|20)\d\d(?:[-/.]\d\d?(?:[-/.]\d\d?)?)?(?:[T ][\d:.]+)?|\d\d?[-/.]\d\d?[-/.](?:19|20)\d\d")
LABEL_OF_NAME = re.compile(r"\([^()]{0,40}\b(?:name|nom|nombre|nome|naam|navn|namn)\b[^()]{0,80}\)", re.IGNORECASE)
"""A line such as (full name of the applicant), which forms have below the name."""
FORM = re.compile(r"(?:form|formular|formulaire|formulario|modulo) [^\W\d]{0,6}[-. ]?\d[\w/-]{0,12}", re.IGNORECASE)
PERIOD = re.compile(
    r"\b(?:(?:fiscal |financial )?years?|quarter(?:ly period)?|period|(?:three|six|nine|twelve) months) end(?:ed|ing) "
    r"(?:[^\W\d]{3,9} \d\d?,? |\d\d? [^\W\d]{3,9},? )(?:19|20)\d\d\b",
    re.IGNORECASE,
)
NOTES = "Notes"
"""The heading of the notes of a slide."""
PLAIN_SHEET = re.compile(r"(?:sheet|tabelle|feuil|hoja|лист|工作表) ?\d*", re.IGNORECASE)
UNIT = re.compile(r"\([^()]*\)")
"""A line such as (in thousands), which names no table."""
LETTERS = re.compile(r"[^\W\d_]{2}")


def extracted_summary(reading: Reading, name: str = "") -> str:
    """A sentence on the file, then the beginning of its text."""
    title = _title(reading)
    kind, part = KINDS[reading.format]
    count = len(reading.sheets) if part == "sheet" else (reading.pages or 0)
    size = f" of {_counted(count, part)}" if part and count > 1 else ""
    tables = _tables(reading, title)
    about = f"{kind}{size}{_period(reading, title, name)}{tables}"
    is_told = bool(size or tables)
    begin = " ".join(islice(_beginning(reading, title), 12))
    if not (begin or tables):
        texts = (one.text[:LONGEST] for one in reading.sections[:3] if isinstance(one, TextSection))
        begin = " ".join(" ".join(texts).split())
    if is_told:
        article = "an" if about.startswith("MS") else "a"
        sentence = f"{title}: {article} {about}." if title else f"{article.capitalize()} {about}."
        return f"{sentence} {begin}".strip()[:LONGEST].strip()
    return (f"{title}: {begin}" if title and begin else title or begin)[:LONGEST].strip()


def _title(reading: Reading) -> str:
    """The title of the file, as far as one stands in it."""
    for text in chain(_named_on_cover(reading), _first_headings(reading), _captions(reading)):
        plain = " ".join(text.split()).strip(" :#")
        is_title = LETTERS.search(plain) and plain[0].isalnum() and plain != NOTES
        if is_title and len(plain) <= LONGEST_TITLE and "@" not in plain and "://" not in plain:
            return plain
    return ""


def _cover(reading: Reading) -> list[str]:
    """The texts of the first page."""
    texts = (one for one in islice(reading.sections, FIRST_TEXTS) if isinstance(one, TextSection) and one.page == 1)
    return [" ".join(one.text[:LONGEST].split()) for one in texts]


def _named_on_cover(reading: Reading) -> Iterator[str]:
    """The name that stands above its label on the cover of a form, with the name of the form."""
    cover = _cover(reading)
    name = next((above for above, below in pairwise(cover) if LABEL_OF_NAME.match(below)), "")
    if name:
        yield ", ".join([name, *islice(filter(FORM.fullmatch, cover), 1)])


def _first_headings(reading: Reading) -> Iterator[str]:
    texts = (one for one in islice(reading.sections, FIRST_TEXTS) if isinstance(one, TextSection))
    for section in texts:
        if section.heading and (section.page or section.slide or 1) == 1:
            yield section.heading[0]
            return


def _captions(reading: Reading) -> Iterator[str]:
    """The titles of the first tables, and texts that stand alone above them."""
    for table in reading.tables[:FIRST_TABLES]:
        alone = [one for one in chain(table.header, *(table.rows if len(table.rows) < 3 else ())) if one]
        shown = alone if len(alone) < 4 and (len(table.rows) < 3 or len(alone) == 1) else ()
        yield from (one for one in (table.title, *shown) if len(one.split()) > 2)


def _period(reading: Reading, title: str, name: str) -> str:
    """The period that the cover names; else the years of the tables' headers and dates, of titles, or of the text."""
    if period := next(filter(None, map(PERIOD.search, _cover(reading))), None):
        return f", {period[0]}"
    tables = [*islice(reading.tables, FIRST_TABLES)]
    heads = chain.from_iterable(one.header or one.rows[0] for one in tables if one.header or one.rows)
    days = chain.from_iterable(map(_dates, tables))
    titles = (one.title for one in tables)
    texts = (one.text for one in islice(reading.sections, 6) if isinstance(one, TextSection))
    named = (title, name.rpartition(".")[0].replace("_", " "), *titles)
    for where in ((*heads, *days), named, (one for one in texts if "opyright" not in one[:LONGEST])):
        if years := sorted({one for text in where for one in YEAR.findall(text[:LONGEST])}):
            if set(years) <= set(YEAR.findall(title)):
                return ""
            return f", {years[0]}" if len(years) == 1 else f", {years[0]} to {years[-1]}"
    return ""


def _dates(table: TableSection) -> Iterator[str]:
    """The cells of columns of dates or years."""
    rows = table.rows[:FIRST_ROWS]
    for at in range(min(max(map(len, rows), default=0), 100)):
        cells = [row[at] for row in rows if at < len(row) and row[at]]
        short = [one for one in cells if len(one) < LONGEST_COLUMN]
        dates = [one for one in short if DATE.fullmatch(one) or (LETTERS.search(one) and YEAR.search(one))]
        years = [one for one in cells if YEAR.fullmatch(one)]
        if len(dates) > 1 and len(dates) >= SHARE_OF_DATES * len(cells):
            yield from dates
        elif at == 0 and len(years) > 1 and years == sorted({*years}):  # each above its months
            yield from years


def _tables(reading: Reading, of: str) -> str:
    """The largest tables, in the order of the file, and how many others there are."""
    real = [one for one in reading.tables if len(one.rows) > 1 or any(one.header)] or reading.tables
    ranked = sorted(real, key=lambda one: (-len(one.rows) * max(1, len(one.header)), one.first_row))
    main: list[TableSection] = []
    for table in ranked:
        if not table.sheet or all(table.sheet != one.sheet for one in main):
            main.append(table)
        if len(main) == MOST_TABLES:
            break
    if not main:
        return ""
    main.sort(key=real.index)
    if reading.sheets:
        rest = _others(len(reading.sheets) - len(main), "sheet")
    else:
        rest = _others(len(real) - len(main), "table")
    return f", with {_joined([*(_phrase(one, of) for one in main), *rest])}"


def _others(count: int, word: str) -> list[str]:
    return [f"{_counted(count, f'other {word}')}"] if count > 0 else []


def _phrase(table: TableSection, of: str) -> str:
    """The table in words: Fees (12 rows of Year, Port and Fee). Nothing repeats the title of the file."""
    sheet = table.sheet if table.sheet and not PLAIN_SHEET.fullmatch(table.sheet.strip()) else ""
    title = " ".join(table.title.split()).strip(" :.")
    is_name = len(title) <= LONGEST_TITLE and LETTERS.search(title) and not UNIT.fullmatch(title)
    title = title if is_name and title != of else ""
    label = f"{sheet}, {title}" if sheet and len(title.split()) > 2 else sheet or title
    names = [*dict.fromkeys(" ".join(one.split()) for one in table.header if LETTERS.search(one) or YEAR.search(one))]
    shown = [one if len(one) <= LONGEST_COLUMN else f"{one[: LONGEST_COLUMN - 1]}…" for one in names[:MOST_COLUMNS]]
    columns = _joined([*shown, *([f"{len(names) - MOST_COLUMNS} more"] if len(names) > MOST_COLUMNS else [])])
    rows = f"{_counted(len(table.rows), 'row')}{f' of {columns}' if columns else ''}"
    where = f" on page {table.page}" if table.page and not label else ""
    return f"{label} ({rows})" if label else f"{rows}{where}"


def _joined(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _beginning(reading: Reading, title: str) -> Iterable[str]:
    """The first paragraphs, without titles and page numbers."""
    for section in islice(reading.sections, FIRST_TEXTS):
        if isinstance(section, TextSection):
            text = " ".join(section.text[: 3 * LONGEST].split(None, LONGEST)[:LONGEST])
            if text != title and text not in section.heading and LETTERS.search(text) and ". . ." not in text:
                yield text
