"""Findings as people and programs read them: lines by tool, JSON, and SARIF 2.1.0 for code scanning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import structs

from rightcall import __version__
from rightcall.base.text import escaped
from rightcall.lint.definitions import Document
from rightcall.lint.findings import Finding, Severity, join_names, named_steps, quote_name
from rightcall.lint.lists import cost_of
from rightcall.lint.rules import Rule, load_rules, severity_of

SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
PAGE: Final = "reference/lint-rules"
SPREAD: Final = 4
"""From so many tools on, the same finding is told once for all of them."""


def tell_once(findings: Iterable[Finding]) -> list[Finding]:
    """The same claim in several places as one finding, at the first of them."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for one in findings:
        groups.setdefault(_claim_of(one), []).append(one)
    return [structs.replace(first, also=tuple(rest)) if rest else first for first, *rest in groups.values()]


def _claim_of(finding: Finding) -> tuple[Any, ...]:
    """What makes two findings one: the rule, the fix, and the message without what it quotes. A keyword that a
    generator writes is one claim, whichever arguments have it."""
    text = finding.message
    if finding.rule.startswith(_OF_KEYWORDS):
        own = [quote_name(name) for _, name in named_steps(finding.path)]
        text = _NAMES.sub("", text).replace(own[-1] if own else "\n", "")
    if "`" in text:
        text = _QUOTED.sub("", text)
    place = () if finding.tool else finding.path
    return finding.rule, finding.certain, finding.fixable, finding.remedy, text, place


_OF_KEYWORDS: Final = ("RC417", "RC422", "RC5")
_NAMES: Final = re.compile(r" \((?:`[^`]*`(?:, | and \d+ more)?)+\)")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def also_in(finding: Finding) -> str:
    """`; the same in …`, with the tools, where a finding is told once for several of them or of their arguments."""
    here = [named_steps(one.path)[-1][1] for one in finding.also if one.tool == finding.tool and named_steps(one.path)]
    tools = [one.tool for one in finding.also if one.tool != finding.tool]
    told = [f"for {join_names(here)}"] if here else []
    told += [f"in {join_names(tools)}"] if tools else []
    return f"; the same {' and '.join(told)}" if told else ""


def finding_record(finding: Finding) -> dict[str, Any]:
    """A finding as `--json` has it. `also` has the further places of a claim that is told once."""
    rule = load_rules()[finding.rule]
    return {
        "rule": rule.id,
        "name": rule.name,
        "severity": severity_of(finding),
        "tool": finding.tool or None,
        "message": f"{finding.message}{also_in(finding)}",
        "fix": finding.remedy,
        "fixable": rule.fixable and finding.fixable,
        "source": finding.source,
        "line": finding.line or None,
        "path": list(finding.path),
        "also": [
            {"tool": one.tool, "message": one.message, "line": one.line or None, "path": list(one.path)}
            for one in finding.also
        ],
    }


def document_record(document: Document, findings: Sequence[Finding]) -> dict[str, Any]:
    """A document with its findings and what its tools cost."""
    costs = {tool.name: cost_of(tool) for tool in document.tools}
    return {
        "source": document.source,
        "tools": len(document.tools),
        "tokens": sum(costs.values()),
        "tokens_by_tool": costs,
        "findings": [finding_record(one) for one in tell_once(findings)],
    }


def rule_record(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id, "name": rule.name, "severity": rule.severity, "summary": rule.summary, "why": rule.why,
        "fix": rule.remedy, "fixable": rule.fixable, "source": rule.source or None,
        "checked": rule.checked and rule.checked.isoformat(),
    }  # fmt: skip


def count_levels(findings: Iterable[Finding]) -> dict[Severity, int]:
    counts: dict[Severity, int] = {"error": 0, "warning": 0, "note": 0}
    for one in findings:
        counts[severity_of(one)] += 1
    return counts


def spread_out(findings: Sequence[Finding]) -> tuple[list[Finding], dict[str, list[Finding]]]:
    """Findings of single tools, and those that the same rule has in many tools, by rule."""
    by_rule: dict[str, list[Finding]] = {}
    for one in findings:
        if one.tool:
            by_rule.setdefault(one.rule, []).append(one)
    many = {rule: found for rule, found in by_rule.items() if len({one.number for one in found}) >= SPREAD}
    return [one for one in findings if not one.tool or one.rule not in many], many


# ── SARIF ──


def sarif_log(documents: Sequence[tuple[Document, Sequence[Finding]]]) -> dict[str, Any]:
    """One run with every finding; the rules that were broken are described in it."""
    used = sorted({one.rule for _, findings in documents for one in findings})
    places = {rule: number for number, rule in enumerate(used)}
    driver = {
        "name": "rightcall lint",
        "version": __version__,
        "rules": [_sarif_rule(load_rules()[rule]) for rule in used],
    }
    results = [_sarif_result(one, places) for _, findings in documents for one in findings]
    return {
        "$schema": SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}],
    }


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{rule.why} {rule.remedy}"},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": rule.severity},
        **({"helpUri": rule.source} if rule.source else {}),
    }


def _sarif_result(finding: Finding, places: Mapping[str, int]) -> dict[str, Any]:
    text = f"{finding.tool}: {finding.message}" if finding.tool else finding.message
    steps = "/".join(map(str, finding.path))
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": places[finding.rule],
        "level": severity_of(finding),
        "message": {"text": _without_links(f"{escaped(text)}. Fix: {finding.remedy}")},
        "partialFingerprints": {"tool/rule/path": escaped(f"{finding.tool}/{finding.rule}/{steps}", 1_000)},
    }
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.source)}}
    if finding.line:
        physical["region"] = {"startLine": finding.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.tool:
        location["logicalLocations"] = [{"name": escaped(finding.tool), "kind": "function"}]
    return {**result, "locations": [location]}


def _without_links(text: str) -> str:
    """A message in which SARIF finds neither a link nor a place for an argument."""
    return re.sub(r"\{(\d+)\}", r"{ \1 }", text.replace("](", "] ("))


def _uri(source: str) -> str:
    """A path as SARIF wants it; what is no path stays a name."""
    from urllib.parse import quote

    return quote(source.replace("\\", "/"), safe="/:@+,=-._~")
