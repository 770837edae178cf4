"""The rules as data, read from `rules.toml`: the page of the reference, the examples that a test runs and the SARIF
output are made from them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.lint.findings import Finding, Severity

_FILE: Final = "rules.toml"
ALL: Final = "ALL"


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. `bad` and `good` are definitions as JSON: the first breaks the rule, the second does not. Rules about
    the audit log and about running servers have none."""

    id: str
    name: str
    severity: Severity
    summary: str
    """What is wrong, in one sentence."""
    why: str
    """What a model or a provider does with it."""
    remedy: str
    """What to do about it."""
    bad: str = ""
    good: str = ""
    source: str = ""
    """Where a provider's rule is documented, or was seen."""
    checked: date | None = None
    """The day on which the source was read."""
    fixable: bool = False
    """Whether `--fix` can do it."""
    times: int = 1
    """So many tools are the bad example; `#` in it is the number of each."""
    length: int = 1
    """So often the description of the bad example is repeated."""

    def bad_tools(self) -> list[dict[str, Any]]:
        """The bad example as definitions."""
        found: list[dict[str, Any]] = []
        for number in range(self.times):
            found += _tools(self.bad.replace("#", str(number)) if self.times > 1 else self.bad)
        if self.length > 1:
            found = [{**one, "description": " ".join([one["description"]] * self.length)} for one in found]
        return found

    def good_tools(self) -> list[dict[str, Any]]:
        return _tools(self.good)

    def means(self, word: str) -> bool:
        """Whether a word on the command line means this rule: its id, the beginning of it, or its name."""
        return word.upper() == ALL or self.id.startswith(word.upper()) or self.name == word.lower()


def _tools(text: str) -> list[dict[str, Any]]:
    value: Any = json.loads(text)
    return cast("list[dict[str, Any]]", value if isinstance(value, list) else [value])


@cache
def load_rules() -> dict[str, Rule]:
    """Every rule, by its id, in order."""
    text = files("rightcall.lint").joinpath(_FILE).read_text(encoding="utf-8")
    tables = cast("dict[str, dict[str, Any]]", tomllib.loads(text))
    return {key: msgspec.convert({"id": key, **table}, Rule) for key, table in sorted(tables.items())}


def require_known(entries: Iterable[str]) -> None:
    """Raises ConfigError for an entry of `--select` or `--ignore` that means no rule."""
    for entry in entries:
        word = entry.partition(":")[0]
        if not word or not any(rule.means(word) for rule in load_rules().values()):
            from rightcall import suggest  # late: only for a mistake

            near = suggest(word, [*load_rules(), *(rule.name for rule in load_rules().values())])
            raise ConfigError(f"unknown rule {word[:60]!r}{near or '.'} Run `rightcall lint --rules` to list them")


def severity_of(finding: Finding) -> Severity:
    return load_rules()[finding.rule].severity if finding.certain else "note"
