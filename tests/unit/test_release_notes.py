"""Which tags may be released, and what the release then says."""

import pytest

from release.notes import NotReady, notes

CHANGELOG = """# Changelog

## Unreleased

- Later.

## 1.2.0 (a Monday)

### Search

- It finds more.

## 1.2

- Another version.

## 1.1.0
"""


def test_a_release_says_what_its_section_says() -> None:
    assert notes("v1.2.0", "1.2.0", CHANGELOG) == "### Search\n\n- It finds more.\n"


@pytest.mark.parametrize(
    ("tag", "version", "told"),
    [
        ("v1.2.1", "1.2.0", "The tag is v1.2.1, but pyproject.toml has the version 1.2.0"),
        ("1.2.0", "1.2.0", "The tag is 1.2.0"),
        ("v1.3.0", "1.3.0", "no section `## 1.3.0`"),
        ("v1.1.0", "1.1.0", "no section `## 1.1.0`"),  # it is empty
    ],
)
def test_a_tag_that_does_not_fit_is_not_released(tag: str, version: str, told: str) -> None:
    with pytest.raises(NotReady, match=told):
        notes(tag, version, CHANGELOG)
