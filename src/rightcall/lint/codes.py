"""RC214, RC215: values that only the author can read. Codes of an `enum` that no text explains, and a text in a formal
language of which nobody says the name.

What the world knows is no code: sizes, units, currencies, methods of HTTP. Most of it is told by the name of the
argument, the rest by the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.words import is_word, singular, words_of
from rightcall.lint.choices import ACRONYMS
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.findings import Hit, quote_name, quote_text, word_set


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    spoken = " ".join(_texts_of(tool) for tool in tools[:_MOST_TOOLS])
    tells_language = _LANGUAGE.search(spoken) is not None
    for tool in tools:
        if tool.ruled:
            continue
        for argument in tool.arguments:
            yield from ((tool, hit) for hit in _find_codes(argument, tool))
        if not tells_language:
            yield from ((tool, hit) for hit in _find_language(tool))


_MOST_TOOLS = 200


def _texts_of(tool: ToolView) -> str:
    """Everything that a tool tells, values and names among it."""
    told = [tool.name, tool.description[:MOST_TEXT]]
    for one in tool.arguments:
        shown = [one.part.get("default"), one.part.get("example"), *as_list(one.part.get("examples"))]
        told += [one.name, one.description[:MOST_TEXT], *(str(value)[:_MOST_VALUE] for value in shown if value)]
    return " ".join(told)


_MOST_VALUE = 200

# ── codes ──

_CODE: Final = re.compile(r"[A-Za-z]{1,3}[-_.]?\d{1,4}[A-Za-z]?|\d{1,3}[-_.]?[A-Za-z]{1,2}|[A-Z]{1,2}|[a-z]")
"""`M1`, `NB2`, `K`: nothing that a dictionary has."""
_WITH_DIGIT: Final = re.compile(r"[A-Za-z]+[-_.]?\d")
_LEAST_CODES = 2
_KNOWN_BY_NAME: Final = word_set(
    "size format codec encoding container extension interval timeframe resolution granularity timespan bucket "
    "duration range period window unit language lang locale country currency region quarter cefr severity priority "
    "version paper page blood gender sex direction side axis orientation heading record dns vitamin exchange symbol "
    "ticker model position airport airline iata icao element note chord answer choice plane bearing wind compass "
    "license licence seat cabin fare plate hemisphere dimension quality bitrate algorithm hash cipher protocol "
    "standard generation scale rank suit piece zone timezone color colour shape font state province pair instance "
    "machine gpu grade rating ph stage ip address family coordinate corner variable marker statistic indicator "
    "operator comparison sort order yes flag response spin clef key tuning meridiem genre mbti"
)
"""Words of names whose values the world knows, whatever they look like."""
_KNOWN_VALUES: Final = word_set(
    "xxs xs s m l xl xxl xxxl 2xl 3xl 4xl a0 a1 a2 a3 a4 a5 a6 b4 b5 mp3 mp4 m4a m3u8 h264 h265 av1 vp8 vp9 aac ac3 "
    "7z gz 1s 5s 1m 2m 3m 5m 10m 15m 30m 60m 90m 1h 2h 3h 4h 6h 8h 12h 24h 1d 2d 3d 5d 7d 14d 30d 60d 90d 180d 365d "
    "1w 2w 1wk 1mo 3mo 6mo 1y 2y 5y 10y ytd m1 m5 m15 m30 h1 h4 d1 w1 mn1 kg g mg lb oz mm cm km mi ft in yd ml cl dl "
    "kl kb mb gb tb pb c f k px pt em vh hz w kw mw kv v a q1 q2 q3 q4 1q 2q h2 h3 h5 h6 b1 b2 c1 c2 p0 p1 p2 p3 p4 "
    "p5 s0 s1 s2 s3 s4 sev1 sev2 sev3 sev4 n e ne nw se sw y t am pm x z id or eq gt lt ge le gte lte and not no ok "
    "en de fr es it us uk eu ci cd qa tv ip v1 v2 v3 v4 v5 v6 4k 8k i8 i16 i32 i64 u8 f16 f32 f64 fp8 fp16 bf16 fp32 "
    "int4 int8 q8 utf8 sha1 sha256 sha512 md5 rs256 es256 hs256 ipv4 ipv6 t1 t2 g1 b o ab mx ns"
)
_SEVERITIES: Final = re.compile(r"(?:p|s|sev|prio|priority|l|q|h|tier|v|g|t)[-_]?\d", re.IGNORECASE)
"""`P1`, `Q3`, `L2`: a scale, where all values are of it."""
_REFERS: Final = re.compile(
    r"\b(?:see|listed|returned|iso|iec|din|ieee|rfc|icd|hl7|standard|scale|according|per|as in|known as|codes? of|"
    r"scheme|"
    r"licen[cs]e|classification|taxonomy|https?|documentation|docs|table|section|from)\b|[=→:(]|\bmeans\b",
    re.IGNORECASE,
)
"""A text that tells what the codes are, or where."""
_MOST_NEW = 5
"""Words of a text beside those of the name that can hardly explain several codes."""


def _find_codes(argument: Argument, tool: ToolView) -> Iterator[Hit]:
    schema = argument.schema if as_list(argument.schema.get("enum")) else argument.item
    values = [one for one in as_list(schema.get("enum")) if one is not None and one != ""]
    texts = [str(one) for one in values if isinstance(one, (str, int)) and not isinstance(one, bool)]
    if len(texts) < _LEAST_CODES or len(texts) < len(values) or _is_known(argument, texts):
        return
    if not _are_codes(argument, texts) or _explains(argument, tool, texts, schema):
        return
    yield Hit(
        "RC214",
        f"nothing says what the values of {quote_name(argument.name)} mean: {quote_text(', '.join(texts[:_SHOWN]))}",
        "say in the description what each value means, or use speaking values",
        argument.path,
    )


def _are_codes(argument: Argument, values: Sequence[str]) -> bool:
    """Whether most values are codes, or all are numbers, letters or one word with numbers or letters behind it."""
    sorts = not _SORTS.isdisjoint(words_of(argument.name)[-1:])
    if all(map(str.isdecimal, values)):
        return sorts or any(one.startswith("0") and len(one) > 1 for one in values)
    if all(len(one) == 1 and one.isalpha() for one in values):
        return sorts and not any({one.lower() for one in values} <= known for known in _KNOWN_LETTERS)
    if sorts and len(values) > _LEAST_CODES and all(map(_SHORT.fullmatch, values)):
        return not any(is_word(one.lower()) or one.lower() in _KNOWN_SHORT for one in values)
    numbered = [_NUMBERED.fullmatch(one) for one in values]
    if len({one[1].lower() if one is not None else "" for one in numbered}) == 1 and numbered[0] is not None:
        return sorts and singular(numbered[0][1].lower()) in _SORTS | {singular(one) for one in words_of(argument.name)}
    codes = [one for one in values if _is_code(one)]
    strange = [one for one in codes if one.lower() not in _KNOWN_VALUES]
    many = 2 * len(codes) > len(values) and 3 * len(strange) >= len(codes)
    return many and len(strange) >= _LEAST_CODES and any(map(_WITH_DIGIT.match, strange))


_SORTS: Final = word_set(
    "mode kind type status state category class method code reason group option cat cls grp variant procedure case "
    "treatment program track rule scheme bracket band cohort lane tariff rate"
)
"""Last words of names whose values are of sorts, so that numbers and letters alone say nothing."""
_SHORT: Final = re.compile(r"[A-Z]{3}")
_SHORT_WORDS: Final = word_set(
    "get put sms tcp udp bug all add end set run new old any low mid top max min avg sum std day bar pie map box web "
    "app ios aws gcp vpc rsa dsa aes ext int dev uat stg prd bmp tif gif psd ftp ssh tls ssl vpn cpu gpu ram ssd hdd "
    "cnn rnn gan pca svm knn lda nmf llm ocr tts stt mon tue wed thu fri sat sun jan feb mar apr may jun jul aug sep "
    "oct nov dec dna rna usb lan wan nat gre ppp ach eft pos atm etf ipo cfd"
)
_KNOWN_SHORT: Final = _KNOWN_VALUES | ACRONYMS | _SHORT_WORDS
"""Words of three letters that are no codes."""
_NUMBERED: Final = re.compile(r"([A-Za-z]{3,12})[-_ ]?(?:\d{1,2}|[A-Za-z])(?<![A-Za-z]{2})")
"""`type1`, `cat_a`"""
_KNOWN_LETTERS: Final = tuple(
    frozenset(one) for one in ("xsml", "nesw", "mfxduo", "ynu", "xyzw", "abo", "cfkr", "hdwmyqs", "lr", "lrc", "sml")
)
_SHOWN = 6


def _is_code(value: str) -> bool:
    letters = re.sub(r"[^A-Za-z]", "", value)
    return _CODE.fullmatch(value) is not None and not (len(letters) > 2 and is_word(letters.lower()))


def _is_known(argument: Argument, values: Sequence[str]) -> bool:
    words = {singular(word) for name in (argument.name, argument.description[:80]) for word in words_of(name)}
    return not words.isdisjoint(_KNOWN_BY_NAME) or all(map(_SEVERITIES.fullmatch, values))


def _explains(argument: Argument, tool: ToolView, values: Sequence[str], schema: dict[str, Any]) -> bool:
    """Whether a text says something of the values: names one, says where they are listed, or is long enough."""
    own = {singular(word) for word in words_of(f"{argument.name} {tool.name}")}
    told = " ".join(tool.texts_of(argument))
    told += " " + str(argument.item.get("description", ""))
    if any(map(_EXPLAINS.search, (*argument.part, *schema))):
        return True
    new = [word for word in words_of(told) if singular(word) not in own and word not in _FILLERS]
    if len(new) > _MOST_NEW or _REFERS.search(told):
        return True
    around = f"{told} {tool.description[:MOST_TEXT]} {' '.join(one.description[:_MOST_NEAR] for one in tool.top)}"
    if all(map(str.isdecimal, values)):
        around = told
    return sum(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", around) is not None for one in values[:60]) * 2 >= len(
        values
    )


_MOST_NEAR = 1_000
_EXPLAINS: Final = re.compile(r"(?:enum|value)[-_]?(?:descriptions?|names|labels|titles|docs?|varnames)", re.IGNORECASE)
_FILLERS: Final = word_set(
    "the a an of for to is it its this that which what be used use by in on with and or code codes value values one "
    "each optional required select selects choose pick type kind class id internal"
)

# ── languages ──

_FORMAL: Final = word_set("query statement expression script program formula")
_RUNS: Final = word_set("run execute exec evaluate eval query")
_LANGUAGE: Final = re.compile(
    r"(?<![A-Za-z])[A-Za-z_]{0,12}QL(?![A-Za-z])|\b\w{0,12}(?:ql|sql)\b|\b(?:syntax|languages?|lucene|elastic\w*|kusto|splunk|spl|cypher|datalog|regex\w*|"
    r"regular expressions?|grammar|dialect|javascript|typescript|python|bash|shell|powershell|ruby|lua|perl|"
    r"groovy|gremlin|mongo\w*|mdx|dax|jmespath|jq|jsonpath|xpath|xquery|odata|solr|rego|cel|latex|excel|"
    r"spreadsheet|natural|plain english|free[- ]text|full[- ]text|keywords?|search terms?|postgres\w*|sqlite|"
    r"mysql|bigquery|snowflake|clickhouse|duckdb|athena|presto|trino|redshift|oracle|neo4j|prometheus|loki|"
    r"influx\w*|datadog|grafana|kibana|opensearch|dynamodb|cassandra|redis|wolfram|sympy|matlab|gdscript|apex|"
    r"abap|applescript|vba|blender|unity|godot|figma|query builder|select\b[^.\n]{0,40}\bfrom)\b",
    re.IGNORECASE,
)
"""What tells, or lets one guess, in which language something is written."""


def _find_language(tool: ToolView) -> Iterator[Hit]:
    """`query` of `run_query`, where no text of the list says in which language it is."""
    named = words_of(tool.name)
    runs = not _RUNS.isdisjoint(named[:2]) and not _FORMAL.isdisjoint(named)
    for one in tool.top if runs else ():
        words = words_of(one.name)
        if one.kind != "string" or not one.required or not words or words[-1] not in _FORMAL:
            continue
        if _SHOWS.search(f"{tool.description} {one.description}"):
            continue
        if _FORMS.isdisjoint(one.schema) and _STORED.search(f"{tool.description} {one.description}") is None:
            yield Hit(
                "RC215",
                f"nothing says in which language {quote_name(one.name)} is written",
                "name the language and give an example",
                one.path,
            )


_SHOWS: Final = re.compile(r"\be\.g|\bexamples?\b|\bsuch as\b|\bquestion\b", re.IGNORECASE)
_FORMS: Final = word_set("enum const format pattern examples example default")
_STORED: Final = re.compile(
    r"\b(?:saved|stored|named|predefined|by name|by id|prepared|ids?|path|file)\b", re.IGNORECASE
)
"""A query that is only named."""
