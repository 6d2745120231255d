"""Law: `tests/rules.md` lists exactly the rules that some test names as proven."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
RULE = r"[A-Z]{1,5}-\d+"
NAMED = re.compile(rf"# spec: ({RULE}(?:, ?{RULE})*)")
LISTED = re.compile(rf"^\| ({RULE}) \| (\S.*) \|$", re.MULTILINE)


def rules_named(text: str) -> Iterator[str]:
    for group in NAMED.findall(text):
        yield from re.split(r", ?", group)


def test_the_list_and_the_tests_agree() -> None:
    named = {
        rule
        for path in TESTS.rglob("*.py")
        if path != Path(__file__)
        for rule in rules_named(path.read_text())
    }
    listed = [rule for rule, _ in LISTED.findall((TESTS / "rules.md").read_text())]
    assert sorted(named - set(listed)) == [], "named by a test, missing in tests/rules.md"
    assert sorted(set(listed) - named) == [], "in tests/rules.md, but no test names it"
    assert len(listed) == len(set(listed)), "a rule is listed twice"


def test_a_rule_is_read_alone_and_in_a_list() -> None:
    text = "def test() -> None:  # spec: ACT-1\n    ...  # spec: REV-1, REV-2,KV-3\n"
    assert list(rules_named(text)) == ["ACT-1", "REV-1", "REV-2", "KV-3"]
