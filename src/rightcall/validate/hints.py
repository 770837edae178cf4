"""The text a refused model reads: what is wrong, and a call that would be right.

The form is the guardrail's: `⚠️ Invalid write call. Missing required fields: content. Example: {…}`.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rightcall.catalog import Tool
from rightcall.text.escape import escaped
from rightcall.types import Problem
from rightcall.validate.example import arguments_text, example_text
from rightcall.validate.wording import joined

NAMES = 30
"""So many tool names are listed; a longer list would drown the rest."""
LONGEST = 300
"""Characters of a sentence that a pack adds."""
_NOTHING = "{}"
"""An example that shows nothing."""
_FINAL = frozenset({"fault"})
"""Problems that no other wording of the call can solve."""


def hint(tool: Tool, problems: Sequence[Problem], *, allowed: Collection[str] | None = None) -> str:
    """What to tell the model of a call that does not fit.

    `allowed`, where given, are the arguments this caller may use: no others are named.
    """
    told = [one for one in problems if allowed is None or not one.path or _first(one.path) in allowed]
    missing = [_field(one) for one in told if one.code in ("missing", "missing_any")]
    sentences = [f"⚠️ Invalid {escaped(tool.name, 100)} call."]
    if missing:
        sentences.append(f"Missing required fields: {', '.join(missing)}.")
    sentences += [f"{one.message}." for one in told if one.code not in ("missing", "missing_any")]
    if tool.rules.hint is not None:
        sentences.append(f"{escaped(tool.rules.hint, LONGEST).rstrip('.')}.")
    shown = example_text(tool, allowed)
    if shown is not None:
        sentences.append(f"Example: {shown}")
    return " ".join(sentences)


def _field(one: Problem) -> str:
    return f"({one.path})" if one.code == "missing_any" else one.path


def _first(path: str) -> str:
    return path.split(" or ")[0].split(".")[0].split("[")[0]


def unknown_tool_hint(name: str, suggestions: Iterable[str] = (), names: Iterable[str] = ()) -> str:
    """What to tell the model of a tool that nobody has. Give only names that this caller may use.

    >>> unknown_tool_hint("wether", ["weather"], ["search", "weather"])
    'There is no tool `wether`. Did you mean `weather`? Tools: search, weather'
    """
    near = [f"`{escaped(one, 100)}`" for one in suggestions]
    text = f"There is no tool `{escaped(name, 100)}`."
    if near:
        text += f" Did you mean {joined(near)}?"
    return text + _listed(names)


def nameless_hint(names: Iterable[str] = ()) -> str:
    """What to tell the model of a call that names no tool at all.

    >>> nameless_hint(["search", "weather"])
    '⚠️ Invalid tool call. It names no tool. Send it again with the name of a tool. Tools: search, weather'
    """
    return f"⚠️ Invalid tool call. It names no tool. Send it again with the name of a tool.{_listed(names)}"


def _listed(names: Iterable[str]) -> str:
    known = [escaped(one, 100) for one in names]
    more = f" and {len(known) - NAMES} more" if len(known) > NAMES else ""
    return f" Tools: {', '.join(known[:NAMES])}{more}" if known else ""


def deprecated_hint(tool: Tool, replacement: Tool | None = None, meant: dict[str, Any] | None = None) -> str:
    """What to tell the model of a tool that another one has replaced. `meant` are its own arguments in the words of the
    new tool, where they would do."""
    new = tool.rules.replaced_by or ""
    text = f"⚠️ Invalid {escaped(tool.name, 100)} call. It is deprecated: use `{escaped(new, 100)}` instead."
    shown = arguments_text(meant) if meant else None
    if shown is None:
        renamed = [f"`{old}` is `{now}` there" for old, now in tool.rules.replacement_arguments.items() if old != now]
        text += f" {', '.join(renamed)}." if renamed else ""
        shown = _example_instead(tool, replacement)
    return f"{text} Example: {shown}" if shown is not None else text


def _example_instead(tool: Tool, replacement: Tool | None) -> str | None:
    """A call of the new tool; where nobody has said what that takes, the old one's example in its words."""
    known = example_text(replacement) if replacement is not None else None
    if known is not None and known != _NOTHING:
        return known
    renamed, old = tool.rules.replacement_arguments, tool.rules.example
    return arguments_text({renamed.get(key, key): old[key] for key in old}) if old else None


def can_retry(problems: Iterable[Problem]) -> bool:
    """Whether calling again, corrected as the hint says, can help."""
    return not any(one.code in _FINAL for one in problems)
