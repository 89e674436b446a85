"""The names of parameters: the names of the properties, functions and variables that their literals are for."""

import re
from typing import Final

from loci.gateway.capabilities.literals import FoundLiteral

LONGEST_NAME: Final = 40
RESERVED: Final = frozenset(
    [
        "arguments",
        "async",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "context",
        "continue",
        "console",
        "debugger",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "eval",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "function",
        "globalThis",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "interface",
        "let",
        "mcp",
        "new",
        "null",
        "package",
        "private",
        "protected",
        "public",
        "return",
        "static",
        "super",
        "switch",
        "this",
        "throw",
        "true",
        "try",
        "typeof",
        "undefined",
        "var",
        "void",
        "while",
        "with",
        "yield",
        "NaN",
        "Infinity",
        "Object",
        "Array",
        "String",
        "Number",
        "Math",
        "JSON",
        "Date",
        "Promise",
        "Map",
        "Set",
        "Error",
        "RegExp",
        "Deno",
    ]
)
NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
LINK: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def wished_name(one: FoundLiteral) -> str:
    """The name that a literal would like as a parameter; empty if it has none."""
    name = _plain(one.name)
    if not name:
        return ""
    if one.role == "property":
        return name
    if one.role == "constant":
        return f"{name}Value"
    if not one.is_number and LINK.match(one.value):
        return "url"
    return f"{name}Number" if one.is_number else f"{name}Text"


def _plain(name: str) -> str:
    """The name as an identifier: `Content-Type` is `contentType`."""
    if NAME.fullmatch(name):
        return name[:LONGEST_NAME]
    words = re.findall(r"[A-Za-z0-9]+", name)
    joined = "".join(one if at == 0 else one[0].upper() + one[1:] for at, one in enumerate(words))
    joined = joined[:1].lower() + joined[1:LONGEST_NAME]
    return joined if NAME.fullmatch(joined) else ""
