"""RC208 once more, and RC124: a boolean whose text says that true does the contrary of its name, and one whose name
says no twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.definitions import Argument
from rightcall.lint.findings import Hit, bare, quote_name, word_set

_TURNS: Final = (
    (
        "notify send alert email mail inform message ping",
        (
            "suppress|silence|mute|(?:skip|omit) sending|(?:no|without) [\\w -]{1,40}?(?:is|are|will be|gets?) "
            "(?:sent|mailed|notified|informed)|without (?:sending|notifying|informing)"
        ),
        "send|notify|inform|alert|mail|email|message",
    ),
    (
        "include show return display list print add expand",
        (
            "exclude|omit|leave out|filter out|hide|drop|without|(?:are|is|will be) (?:excluded|omitted|hidden|"
            "left out|filtered out|removed|dropped|skipped|not (?:included|shown|returned|listed))"
        ),
        "include|show|return|display|list|print|add",
    ),
    (
        "exclude hide omit",
        (
            "(?:also |even )?(?:include|show|list|return|display|add)|"
            "(?:are|is|will be) (?:included|shown|listed|returned)"
        ),
        "exclude|hide|omit",
    ),
    (
        "enable activate",
        ("disable|deactivate|turn off|switch off|(?:is|are|will be) (?:disabled|turned off|switched off|deactivated)"),
        "enable|activate|use",
    ),
    (
        "allow permit accept",
        (
            "forbid|deny|disallow|reject|refuse|prohibit|block|prevent|(?:is|are|will be) (?:forbidden|"
            "denied|rejected|refused|blocked|not (?:allowed|permitted|accepted))"
        ),
        "allow|permit|accept",
    ),
    (
        "keep preserve retain",
        ("delete|remove|discard|drop|erase|throw away|(?:is|are|will be) (?:deleted|removed|discarded|dropped|erased)"),
        "keep|preserve|retain",
    ),
    (
        "overwrite replace",
        (
            "(?:keep|preserve|skip|leave) (?:the )?(?:existing|old|present)|(?:existing|old) [\\w -]{1,30}?"
            "(?:is|are|will be) (?:kept|preserved|left|not (?:overwritten|replaced))"
        ),
        "overwrite|replace",
    ),
)
"""Verbs that a name begins with; words that say the contrary of them; and verbs that only `not` makes the contrary."""


def _turned(words: str, contrary: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:(?:{contrary})(?:e?s)?\b|(?:do not|does not|don't|not) (?:{words})\b)", re.IGNORECASE)


_BY_VERB: Final = {verb: _turned(plain, contrary) for verbs, contrary, plain in _TURNS for verb in verbs.split()}
_TRUE: Final = re.compile(
    r"(?:^|[.;(\n]\s{0,9})(?:(?:set|pass|use)(?: (?:it|this|flag|value))?(?: to| as)? true|"
    r"(?:if|when) (?:set to |set |this is |it is )?(?:true|set|enabled|on|yes)\b|true|whether)\b[:,=]?\s*"
    r"(?:to |means |if |will |then )?([^.;\n]{3,120})",
    re.IGNORECASE,
)
"""What true does, in a bare text."""
_ENDS: Final = re.compile(r",? (?:otherwise|else|if false|when false|false)\b|\bor\b", re.IGNORECASE)
_AGAIN: Final = re.compile(
    r"\b(?:not|no|never|un\w+|all but|except|other than|others?|rather than|instead of|filters?|limits?|"
    r"previously|already|would|even|also|both|despite|although)\b",
    re.IGNORECASE,
)
"""Words that turn a clause once more, or that make it tell of something else."""
_PRONOUNS: Final = word_set("it them this that these those")


def find_turned(argument: Argument, text: str) -> str | None:
    """The words of a text that say the contrary of the name for true: `notify_guests`, `True to suppress the mail`."""
    words = words_of(argument.name)
    turned = _BY_VERB.get(words[0]) if argument.kind == "boolean" and words else None
    if turned is None:
        return None
    for clause in _TRUE.finditer(bare(text[:400])):
        told = _ENDS.split(clause[1])[0]
        found = turned.search(told)
        if found is None or "false" in told.lower():  # `Whether to include (false) or exclude (true)`
            continue
        rest = f"{told[: found.start()]} {told[found.end() :]}"
        own = {singular(word) for word in words[1:]}
        said = {singular(word) for word in words_of(rest)}
        begins = not words_of(told[: found.start()]) or found[0].split()[0].lower() in ("is", "are", "will", "no")
        same = own & said or said & _PRONOUNS or (not own and len(said) < 8)
        plainly = _BY_VERB["notify"] is turned or same
        if plainly and (begins or same) and not _AGAIN.search(rest) and not _speaks_both(words[0], rest):
            return found[0]
    return None


def _speaks_both(verb: str, rest: str) -> bool:
    """`Whether to include excluded items` has the verb of the name as well."""
    return re.search(rf"\b{re.escape(verb[:5])}", rest, re.IGNORECASE) is not None


_NO: Final = word_set("no not dont don never")
_SAYS_NO: Final = word_set(
    "skip skipped skipping disable disabled disabling exclude excluded excluding omit omitted omitting suppress "
    "suppressed suppressing hide hiding without no not"
)


def find_doubled(argument: Argument) -> Iterator[Hit]:
    """`dont_skip_checks`, `disable_no_reply`: what true does has to be worked out. `skip_not_found` is said of what is
    skipped."""
    words = [word for word in words_of(argument.name) if word not in ("t", "do", "is")]
    if argument.kind != "boolean" or len(words) < 2:
        return
    one, other = words[:2]
    if (one in _NO and other in _SAYS_NO) or (one in ("disable", "disabled") and other in _NO):
        yield Hit(
            "RC124",
            f"{quote_name(argument.name)} says no twice",
            "name it by what true does, and turn the default round where that changes it",
            argument.path,
        )
