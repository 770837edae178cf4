"""RC609: what no model needs, and hosts send with every request: notes of generators in the schema, and in the
description a pasted answer, the history of the tool, or what is told to buyers and to courts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rightcall.base.text import estimate
from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.words import words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, Steps, join_names, word_set
from rightcall.lint.meaning import stem
from rightcall.lint.schemas import STANDARD_KEYS, walk

_BALLAST, _BALLAST_SHARE = 120, 5
"""Tokens of keywords that no model needs, and the part of the tool that they take, from which on they are told."""
_EXAMPLES, _FIRST_EXAMPLES = 300, 1
"""Tokens of the examples behind the first one, from which on they are told."""
_DEFAULTS = 200
"""Tokens of one default."""
_FOR_MODELS: Final = re.compile(r"enum|descr|meaning|label|unit|deprecat|order", re.IGNORECASE)
"""Words of foreign keywords that a model may learn something from."""
_OWN_KEYS: Final = STANDARD_KEYS - {"$comment", "contentMediaType", "externalDocs", "xml"}


def render_sent(value: object) -> str:
    """A part of a definition as hosts send it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def find_ballast(tool: ToolView, cost: int) -> Iterator[Hit]:
    """Keywords of generators and frameworks, whole lists of examples, long defaults, and idle text."""
    foreign = Counter[str]()
    examples: list[tuple[int, Steps]] = []
    for path, part in walk(tool.schema or {}, tool.schema_path):
        for key, value in part.items():
            if key not in _OWN_KEYS and not (_FOR_MODELS.search(key) and isinstance(value, (str, list, dict))):
                foreign[key] += estimate(render_sent({key: value}))
        more = as_list(part.get("examples"))[_FIRST_EXAMPLES:]
        examples.append((sum(estimate(render_sent(one)) for one in more), path))
        if (default := estimate(render_sent(part.get("default")))) >= _DEFAULTS:
            told = f"a default takes about {default:,} tokens in every request"
            yield Hit("RC609", told, "let the server fill it in, and describe it in words", (*path, "default"))
    wasted = sum(foreign.values())
    if wasted >= _BALLAST and wasted * _BALLAST_SHARE >= cost:
        most = join_names(key for key, _ in foreign.most_common())
        told = f"keywords that no model needs take about {wasted:,} of {cost:,} tokens: {most}"
        yield Hit("RC609", told, "leave them out of what the server lists", tool.schema_path)
    if sum(tokens for tokens, _ in examples) >= _EXAMPLES:
        told = f"the examples behind the first take about {sum(tokens for tokens, _ in examples):,} tokens"
        yield Hit("RC609", told, "keep one short example", max(examples)[1])
    texts = [(tool.description, tool.at("description")), *((one.description, one.path) for one in tool.arguments)]
    for text, path in texts:
        if idle := measure_idle(tool, text):
            kinds = ", ".join(f"{kind} ({tokens:,})" for kind, tokens in idle.most_common())
            told = f"about {idle.total():,} tokens of a description help no call: {kinds}"
            yield Hit("RC609", told, "keep what a model needs to choose and call the tool", path)


# ── descriptions ──

_LEAST_TEXT, _MOST_TEXT = 80, 800
"""Tokens of a description that is read for idle text, and for what it repeats: RC606 tells of a longer one."""
_LONGEST = 10_000
"""Characters of a description that are read."""
_KEY: Final = re.compile(r"[\"']([\w$.-]{1,40})[\"']\s{0,3}:")
_KEY_GAP, _FEWEST_KEYS = 240, 6
_DIRECTION: Final = re.compile(
    r"\b(?:(?P<out>responses?|responds?|answers?|outputs?|results?|returns?|returned|repl(?:y|ies))|inputs?|requests?|"
    r"arguments?|args|param(?:eter)?s?|calls?|bod(?:y|ies)|payloads?|usage|spec\w*|config\w*|syntax|grammar|quer(?:y|ies)|"
    r"filters?|pass|accepts?|takes|expects|schema)\b",
    re.IGNORECASE,
)
_RESULT = r"(?:responses?|answers?|outputs?|results?|return values?|repl(?:y|ies))"
_HEAD: Final = re.compile(
    rf"\b(?:examples?|samples?|typical|full|complete)(?: (?:of|for))?(?: an?| the)?(?: [\w-]+)? {_RESULT}\b|"
    rf"\b{_RESULT} (?:examples?|samples?|looks? like)\b|\breturns?,? (?:e\.g\.|for example)",
    re.IGNORECASE,
)
_MOST_SAMPLES = 20
_PARAGRAPHS: Final = re.compile(r"(?:[^\n]|\n(?![ \t]*\n))+")
_SIGN: Final = re.compile(r"[^\w\s]|\d")
_SOLID: Final = re.compile(r"\S")
_SOLID_A_SIGN = 7
"""Data has a sign or a digit in so many characters; prose has one in twenty."""
_PAIR: Final = re.compile(r"\w[\"']?\s{0,3}:")
_TYPE: Final = re.compile(
    r"\w[\"']?\s{0,3}:\s{0,3}[\"'<]?(?:<|\.\.\.|str\b|string\b|int\b|integer\b|number\b|float\b|bool\b|boolean\b|list\b|"
    r"dict\b|array\b|object\b|date\b|datetime\b)",
    re.IGNORECASE,
)
_FORMED: Final = re.compile(r"json|ya?ml|spec|config|payload|body|schema|definition|object|dsl", re.IGNORECASE)
"""A text that has a form of its own, which a description may show."""
_BLOCKS: Final = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*•#]|\d{1,2}[.)][ \t]))")
_SENTENCES: Final = re.compile(r"(?<=[.!?;])\s+")
_VERSION: Final = re.compile(
    r"[\s\W]{0,8}(?:(?:changelog|change log|release notes|history|what's new|changes)\W{1,4})?"
    r"(?:(?:in|since|from|with|as of|before|until) )?"
    r"(?:(?:v|version|ver\.?|release) ?\d|\d{1,3}\.\d{1,4}(?:\.[\dx]{1,4})?\b|(?:19|20)\d\d-\d\d(?:-\d\d)?\b|"
    r"(?:in )?\(?(?:(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec|spring|summer|autumn|winter|early|"
    r"late)\w{0,6} )?(?:19|20)\d\d\b)",
    re.IGNORECASE,
)
_CHANGES: Final = re.compile(
    r"\b(?:add(?:ed|s)|fix(?:ed|es)?|remov(?:ed|es)|renam(?:ed|es)|chang(?:ed|es)|deprecat(?:ed|es)|improv(?:ed|es)|"
    r"now|new|mov(?:ed|es)|updat(?:ed|es)|dropp?(?:ed|s)|rais(?:ed|es)|introduc(?:ed|es)|retired|built|launched|"
    r"support(?:ed|s)?|first|"
    r"initial|switched|rewritten|rewrote|refactor\w*|longer|faster|migrat\w+|replac(?:ed|es)|bugs?|crash\w*|"
    r"lowered|increased|reduced|older|previously|release[ds]?)\b",
    re.IGNORECASE,
)
_ENTRIES = 3
"""Versions that are told of from which on it is a history."""
_TALK: Final = re.compile(
    r"\b(?:"
    # to buyers
    r"(?:world|market|industry)[- ](?:leading|class|first)|leading (?:way|provider|platform|solution|company|choice)|"
    r"award[- ]winning|(?:is|are|we're) proud|proudly|trusted by|best[- ]in[- ]class|state[- ]of[- ]the[- ]art|"
    r"cutting[- ]edge|next[- ]generation|game[- ]chang\w+|revolution(?:ary|i[sz]e\w*)|(?:empower|delight)(?:s|ing|ed)?|"
    r"unparalleled|unrivall?ed|unmatched|effortless(?:ly)?|seamless(?:ly)?|passion(?:ate)?|our mission|our vision|"
    r"(?:thousands|millions|billions) of (?:\w+ )?(?:companies|customers|teams|users|businesses|developers|people)|"
    r"\d[\d,.]{0,12}\+? (?:million |thousand |billion )?(?:companies|customers|teams|businesses|families)|"
    r"in (?:more than |over )?\d+ countries|(?:the )?envy|envies|customers love|loved by|most (?:flexible|advanced|"
    r"powerful|trusted|popular)|on the market|(?:growth|pro|business|enterprise|premium|plus|starter|professional) "
    r"plans?|upgrade (?:to|now|today)|free trial|sign up|subscribe|newsletter|special offers?|discounts?|"
    r"testimonials?|case stud(?:y|ies)|modern teams|"
    r"number one|(?:product|company) of the year|book a demo|(?:free|live) demo|our sales|sales (?:team|people)|"
    r"save (?:up to|hours|time)|(?:customers|users|clients|teams|people|companies|everyone) (?:\w+ )?(?:love|trust|"
    r"rely on)|trust us|(?:friendly|personal|dedicated|24/7|round-the-clock) (?:support|service)|impress\w*|"
    r"(?:money[- ]back|satisfaction) guarantee\w*|at no (?:extra )?cost|without any cost|try it|you will love|"
    r"the right (?:plan|package)|state of the art|"
    r"thank you|we (?:\w+ )?(?:hope|appreciate)|have a \w+ day|(?:happy|a pleasure|glad) to (?:help|serve)|"
    r"tell your friends|enjoy (?:your|using)|"
    # about the company
    r"we are hiring|we're hiring|careers|founded (?:in|by)|since (?:18|19|20)\d\d|(?:started|began) in (?:a|18|"
    r"19|20)\w*|family (?:business|owned)|headquarter\w*|our (?:team|"
    r"community|customers|engineers|experts|founders?|investors|story|values|website|blog|support)|(?:community|user) "
    r"forum|feature requests?|monday to friday|business hours|office hours|contact (?:us|our|sales)|visit (?:us|our)|"
    r"follow us|join (?:us|our)|status page|product managers?|headcount|codename|on-?call|intranet|wiki|"
    # to courts
    r"warrant(?:y|ies)|merchantability|fitness for a|liab(?:le|ility)|indemnif\w+|trademarks?|copyright|©|"
    r"all rights reserved|terms (?:of (?:service|use)|and conditions)|legal advice|legal notice|disclaims?|disclaimer|"
    r"governing law|mandatory law|jurisdiction|affiliates|subsidiaries|licensors|consequential|incidental|"
    r"privacy policy|as[- ]is|you agree|accept no|no responsibility|written consent|provisions?|in force|"
    r"courts of|under \w+ law|gdpr|data protection|personal data|(?:not|legally) binding|disputes?|confidentiality|"
    r"express or implied|hereby|herein|thereof|shall (?:not )?be (?:construed|held)"
    r")(?!\w)",
    re.IGNORECASE,
)
_FEWEST_SIGNS, _TOKENS_A_SIGN = 2, 45
"""Such expressions that a paragraph needs, and for how many of its tokens one."""
_ONCE: Final = re.compile(
    r"\b(?i:in|since|until|from|by|of|during) (?:the )?(?:(?:spring|summer|autumn|winter|early|late|[A-Z][a-z]{2,8}) )?"
    r"(?:(?:1[4-9]|20)\d\d\b|\w+teenth century|war\b|twenties|\w+ties\b)|\b(?:long tradition|years ago|back then)\b"
)
_WAS: Final = re.compile(
    r"\b(?:was|were|had|has (?:been|kept|had)|have (?:been|kept|had)|began|opened|built|bought|became|served|won|"
    r"kept|grew|met|led|moved|put|took|made|founded|burnt|came|went)\b"
)
"""What a chronicle is known by: a time long ago, and what was then."""
_IDLE_WORDS: Final = frozenset(map(stem, word_set(
    "the a an of for to this that it its is are be was in on with and or by as from if which who will you your can not "
    "no has have at each every when then there so do does all also must may one given give need required get call tool "
    "parameter argument optional whose what where here want ask user use takes after before short sum means stand "
    "remember"
)))  # fmt: skip
_NO_PROSE: Final = re.compile(r"[{}=\[\]\"`|<>]|^\W*\w+ ?(?:\([^()]{0,40}\))?:")
_LEAST_TOLD, _TOLD_SHARE = 60, 0.4
"""Tokens of sentences that say nothing new, and the part of a description that they take, from which on they are
told."""


def measure_idle(tool: ToolView, text: str) -> Counter[str]:
    """The tokens of each kind of text in a description that helps no call; empty where they are few."""
    idle = Counter[str]()
    text = text[:_LONGEST]
    if estimate(text) < _LEAST_TEXT:
        return idle
    for start, end in _sample_spans(tool, text):
        idle["a sample of the result"] += estimate(text[start:end])
    changes = history = 0
    taken = {word for one in tool.top for word in _told(one.name)}
    subject = f"{' '.join(words_of(tool.name))} {_SENTENCES.split(tool.description, 1)[0]}".lower()
    for block in _BLOCKS.split(text):
        signs = {found[0].lower() for found in _TALK.finditer(block)}
        signs = {sign for sign in signs if sign.rstrip("s") not in subject}  # a tool for trademarks tells of them
        chronicle = sum(_tells_of_old(one, taken) for one in _SENTENCES.split(block))
        if len(signs) >= _FEWEST_SIGNS and (len(signs) + chronicle) * _TOKENS_A_SIGN >= estimate(block):
            idle["talk of the company, its offers or its terms"] += estimate(block)
            continue
        if chronicle >= _FEWEST_SIGNS and chronicle * _TOKENS_A_SIGN * 2 >= estimate(block):
            idle["background"] += estimate(block)
            continue
        whole = _VERSION.match(block) is not None
        told = [one for one in _SENTENCES.split(block) if _VERSION.match(one)]
        changes += sum(_CHANGES.search(one) is not None for one in ([block] if whole and len(told) == 1 else told))
        history += sum(map(estimate, [block] if whole else told))
    if changes >= _ENTRIES:
        idle["its history"] = history
    again = _told_again(tool, text) if text == tool.description and estimate(text) <= _MOST_TEXT else 0
    if again >= _LEAST_TOLD:
        idle["what it says twice"] = again
    enough = idle.total() >= _BALLAST or (idle.total() >= _LEAST_TOLD and idle.total() >= _TOLD_SHARE * estimate(text))
    return idle if enough else Counter()


def _tells_of_old(sentence: str, taken: set[str]) -> bool:
    """Whether a sentence tells what was long ago, and nothing of an argument."""
    return _ONCE.search(sentence) is not None and _WAS.search(sentence) is not None and not taken & _told(sentence)


def _told_again(tool: ToolView, text: str) -> int:
    """The tokens of sentences of which the names, the texts of the arguments and what stands before say every word. A
    list of arguments, an example and a condition with a value of its own are no such sentences."""
    told = {word for one in tool.arguments for word in _told(f"{one.name} {one.description[:_LONGEST]}")}
    told |= _told(tool.name)
    again = 0
    for sentence in (one for block in _BLOCKS.split(text) for one in _SENTENCES.split(block)):
        words = _told(sentence)
        again += estimate(sentence) if len(words) > 1 and words <= told and not _NO_PROSE.search(sentence) else 0
        told |= words
    return again


def _told(text: str) -> set[str]:
    return {*map(stem, words_of(text))} - _IDLE_WORDS


def _sample_spans(tool: ToolView, text: str) -> Iterator[tuple[int, int]]:
    """Where a text shows a whole result: behind words that say so, or as keys with values. Those of an argument, or
    with types, are needed."""
    reached = 0
    for head in islice(_HEAD.finditer(text), _MOST_SAMPLES):
        start = end = max(reached, head.end())
        for block in _PARAGRAPHS.finditer(text, start):
            solid = len(_SOLID.findall(block[0])) or 1
            if len(_SIGN.findall(block[0])) * _SOLID_A_SIGN < solid or _is_typed(block[0]):
                break
            end = block.end()
        if end > start:
            yield start, end
            reached = end
    taken = {one.name for one in tool.arguments}
    loose = any(one.kind in ("object", "array", "") or _FORMED.search(one.name + one.description) for one in tool.top)
    for run in _runs_of_keys(text[reached:]):
        keys = {key[1] for key in run}
        start, end = reached + run[0].start(), reached + run[-1].end()
        said = [one["out"] for one in _DIRECTION.finditer(text[max(0, start - 160) : start])]
        if (
            len(run) >= _FEWEST_KEYS
            and 2 * len(keys & taken) <= len(keys)
            and (bool(said[-1]) if said else not loose)
            and not _is_typed(text[start : end + 40])
        ):
            yield start, end


def _runs_of_keys(text: str) -> list[list[re.Match[str]]]:
    runs: list[list[re.Match[str]]] = []
    for key in _KEY.finditer(text):
        if runs and key.start() - runs[-1][-1].end() <= _KEY_GAP:
            runs[-1].append(key)
        else:
            runs.append([key])
    return runs


def _is_typed(text: str) -> bool:
    """Whether a third of the keys have the name of a type, or a hole, for a value."""
    return len(_TYPE.findall(text)) * 3 > len(_PAIR.findall(text))
