"""Finds out in which encoding a text is."""

import re
from collections.abc import Sequence
from typing import Any

from loci.files.extract.unreadable import ReadingLimits

MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
BYTE_ORDER_MARKS = tuple(mark for mark, _ in MARKS)
SAMPLE = 1 << 16
HIGH = re.compile(rb"[\x80-\xff]+")
COMMON = frozenset(
    "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么"
    "日月金額額数量价格名称城市公司产品销售收入部门姓名地址北京上海年度合计總計產品價格銷售日期客户戶東京会社売上合計商品"
)
FAMILIES = ("gb18030", "cp932", "big5", "euc_kr", "euc_jp")


def read_text(path: str, limits: ReadingLimits) -> dict[str, Any]:
    """A text that no other reader knows: in an encoding without a mark, or in a file whose name does not end in txt."""
    with open(path, "rb") as opened:  # noqa: PTH123
        text, encoding = decoded(opened.read(limits.unpacked_bytes))
    remarks = [] if encoding == "utf-8" else [f"The file is not in UTF-8. It was read as {encoding}"]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return {"sections": [{"kind": "text", "text": text, "first_line": 1}], "remarks": remarks}


def decoded(content: bytes) -> tuple[str, str]:
    """The text, and the name of its encoding."""
    for mark, name in MARKS:
        if content.startswith(mark):
            return content.decode(name, "replace"), name.removesuffix("-sig")
    sample = content[:SAMPLE]
    zeros = sample.count(0)
    if zeros * 4 > len(sample) and len(sample) > 3:
        name = "utf-16-le" if sample[1::2].count(0) >= sample[::2].count(0) else "utf-16-be"
        return content.decode(name, "replace"), "utf-16"
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and len(content) >= SAMPLE:  # cut within its last character
            return content.decode("utf-8", "replace"), "utf-8"
    name = _without_mark(sample)
    return content.decode(name, "replace"), name


def _without_mark(sample: bytes) -> str:
    """The most likely encoding of a text that is not in Unicode."""
    runs: Sequence[bytes] = HIGH.findall(sample)
    in_pairs = sum(len(one) for one in runs if len(one) > 1)
    if in_pairs * 2 < sum(map(len, runs)):
        return "cp1252"
    best, most = "cp1252", 0.0
    for name in FAMILIES:
        try:
            text = sample[: _whole(sample)].decode(name)
        except UnicodeDecodeError:
            continue
        score = _likeness(text)
        if score > most:
            best, most = name, score
    return best


def _whole(sample: bytes) -> int:
    """Find the end of the sample's last line: the sample itself may end within a character."""
    return sample.rfind(b"\n") + 1 or len(sample) if len(sample) == SAMPLE else len(sample)


def _likeness(text: str) -> float:
    """The likelihood that the text was written in this encoding: common signs speak for it, rare ones against."""
    foreign = [one for one in text if ord(one) > 127]
    points = 0.0
    for one in foreign:
        if one in COMMON:
            points += 1.0
        elif "\u3041" <= one <= "\u30f6" or "\uac00" <= one <= "\ud7a3":
            points += 0.8
        elif "\u4e00" <= one <= "\u9fff" or "\u3000" <= one <= "\u303f" or "\uff01" <= one <= "\uff5e":
            points += 0.4
        else:
            points -= 0.5
    return points / max(1, len(foreign))
