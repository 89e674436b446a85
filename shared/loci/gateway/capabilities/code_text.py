"""Code as text: its identity, which is the code without comments and white space, and the secrets in it."""

import re
from typing import Final

from loci.core.ids import content_id
from loci.core.secrets_in_text import has_known_format, is_secret_number, secret_kind, secrets_in

LARGEST_CODE: Final = 32 * 1024
"""Characters of code that is learned."""
ENDS: Final = "\n\r\u2028\u2029"
LEXEME: Final = re.compile(
    rf"(?P<space>[^\S{ENDS}]+)|(?P<line>[{ENDS}])|(?P<remark>//[^{ENDS}]*)|(?P<block>/\*)|(?P<template>`)|(?P<slash>/)"
    r"|(?P<text>'(?:[^'\\\n]|\\[\s\S])*'|\"(?:[^\"\\\n]|\\[\s\S])*\")|(?P<word>[\w$#@]+)|(?P<bracket>[()\[\]{};,])"
    r"|(?P<sign>[^\s\w$#@'\"`/()\[\]{};,]+|['\"])"
)
WORD: Final = re.compile(r"[\w$#@]+")
REGEX: Final = re.compile(rf"/(?:[^/\\\[{ENDS}]|\\.|\[(?:[^\]\\{ENDS}]|\\.)*\])+/[\w$]*")
REST_OF_LINE: Final = re.compile(rf"[^{ENDS}]*")
BEFORE_REGEX: Final = frozenset({"return", "typeof", "case", "in", "delete", "void", "throw", "instanceof"})
KEYWORDS: Final = """
    abstract as async await break continue debugger declare default do else enum export extends finally for from get if
    implements import is keyof let new null of readonly set static super switch this try type while with yield
"""
UNSURE: Final = frozenset(KEYWORDS.split())
"""Words after which a slash may begin a regular expression or divide."""
JOINS: Final = frozenset({")", "]", "}", ",", ";", ":", "="})
"""Signs before which the end of a line says nothing."""
TIED: Final = ("++", "--", "!")
"""Signs that belong to what is on their own line."""


def lexemes(code: str) -> list[str]:  # noqa: C901 (one case a kind of lexeme)
    """The words, texts and signs, and the ends of lines that may end a statement.

    If it is not sure what a slash is, it keeps the rest of the line as it is, or all that follows. Two spellings of one
    code may then be two codes, but two codes are never one.
    """
    if "<!--" in code or "-->" in code:  # they begin comments, in some code
        return [code]
    found: list[str] = []
    at, is_new_line = 0, False
    while at < len(code):
        match = LEXEME.match(code, at)
        if match is None:
            return [*found, code[at:]]
        kind, text, end = match.lastgroup, match.group(), match.end()
        last = found[-1] if found else ""
        if kind == "block":
            end = code.find("*/", end) + 2
            if end < len("*/"):
                return [*found, code[at:]]
            is_new_line |= any(one in ENDS for one in code[at:end])
        elif kind == "line":
            is_new_line = True
        elif kind not in ("space", "remark"):
            if kind == "template":
                text = code[at : _template_end(code, at)]
            elif kind == "slash":
                is_property = len(found) > 1 and found[-2].endswith(".")
                text = _slash(code, at, last, is_unsure=is_new_line or is_property)
            if is_new_line and _may_end(last, text):
                found.append("\n")
            found.append(text)
            at, is_new_line = at + len(text), False
            continue
        at = end
    return found


def _may_end(last: str, following: str) -> bool:
    """True if the end of the line between these two may mean something."""
    is_tied = last.endswith(TIED) or following.startswith(TIED) or following in ("as", "satisfies")
    return is_tied or (WORD.fullmatch(last) is not None and following not in JOINS)


def _slash(code: str, at: int, last: str, *, is_unsure: bool) -> str:
    """The text from a slash on that is one: an operator, a regular expression, or what it is not sure of."""
    is_word = WORD.fullmatch(last) is not None
    if not (is_unsure or last in UNSURE or last in (")", "}") or last.endswith((*TIED, ">"))):
        if (is_word and last not in BEFORE_REGEX) or last == "]" or last[-1:] in ("'", '"', "`"):
            return "/"
        regex = REGEX.match(code, at)
        return regex.group() if regex else code[at:]
    line = REST_OF_LINE.match(code, at)
    rest = line.group() if line else ""
    return code[at:] if "/*" in rest or "`" in rest else rest


def _template_end(code: str, at: int) -> int:
    """The end of the template that begins here; the end of the code if it has a slash or a text inside `${}`."""
    depth, at = 0, at + 1
    while at < len(code):
        char = code[at]
        if char == "\\":
            at += 1
        elif char == "`" and not depth:
            return at + 1
        elif not depth and code.startswith("${", at):
            depth, at = 1, at + 1
        elif depth and char in "/`'\"":
            break
        elif depth and char in "{}":
            depth += 1 if char == "{" else -1
        at += 1
    return len(code)


def identity_of(code: str) -> str:
    """The id of the code: the same for code that differs in comments and white space alone."""
    return content_id(*lexemes(code), length=32)


def words_of_code(code: str) -> frozenset[str]:
    """The words of the code."""
    return frozenset(WORD.findall(code))


def has_secret(code: str) -> bool:
    """True if a secret is in the code: in a text, a number, a comment or a name, whole or in pieces."""
    found = lexemes(code)
    pieces = re.sub(r"[\"'`${}\s+]", "", "".join(one for one in found if one[0] in "'\"`"))
    if has_known_format(code) or has_known_format(pieces):
        return True
    remarks = re.findall(r"//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*", code)
    if any(secrets_in(one) for one in (*remarks, *(one for one in found if one[0] in "/`"))):
        return True
    return any(_is_secret(found, at) for at in range(len(found)))


def _is_secret(found: list[str], at: int) -> bool:
    """True if the text or the number here is a secret, by itself or by the name before it."""
    value = found[at]
    names = [found[at - 2].strip("'\"")] if at > 1 and found[at - 1] in ("=", ":", ",", "=>") else []
    if at > 3 and found[at - 3] == ":" and found[at - 1] == "=":  # `name: string = "…"`
        names.append(found[at - 4])
    if value[0] in "'\"":
        return any(secret_kind(value[1:-1], name) for name in ("", *names))
    return value.isdecimal() and any(is_secret_number(name, value) for name in names)
