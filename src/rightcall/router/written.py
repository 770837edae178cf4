"""Examples of requests that stand in no definition: those of our own tools, and those that a model or a person wrote.

    a tool without examples ─▶ a model, asked once ─▶ a file, which people may edit ─▶ what the router compares

There is one file for each folder that is worked in, in the user's own state folder: no tool may touch it, and no
project brings it along. What a model wrote is only ever compared with requests; no model is shown it, and people are
shown it escaped. Our late imports keep `rightcall tools` quick where nothing was written.
"""

import json
import logging
import os
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import state_folder
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.text import escaped
from rightcall.catalog.sources import LONGEST_EXAMPLE, MOST_EXAMPLES
from rightcall.errors import ModelError, StoreError, Unreadable

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate
    from rightcall.models.replies import Model
    from rightcall.router.lexical import ToolText

YOU: Final = "you"
"""Who wrote what no model may replace."""
_MOST_BYTES = 16_000_000
_LONGEST_DEFINITION = 6000
_MOST_TOKENS = 4000
_log = logging.getLogger("rightcall")


class Requests(Struct, frozen=True, forbid_unknown_fields=True):
    """Requests that want one tool, as the file has them."""

    examples: tuple[str, ...]
    by: str = YOU
    """`model NAME`, or `you`."""
    digest: str = ""
    """Of the definition that they were written for; a person may leave it out."""

    def fits(self, digest: str) -> bool:
        return self.digest == digest or (self.by == YOU and not self.digest)


@lru_cache(maxsize=1)
def shipped_examples() -> dict[str, tuple[str, ...]]:
    """Those of our own tools, by name."""
    with open(os.path.join(os.path.dirname(__file__), "weights", "examples.json"), "rb") as stream:
        return msgspec.json.decode(stream.read(), type=dict[str, tuple[str, ...]])


def digest_of(name: str, description: str, parameters: dict[str, Any]) -> str:
    """Of how a tool reads: examples are of no use once it has become another."""
    said = json.dumps([name, description, parameters], sort_keys=True, default=str)
    return sha256(said.encode()).hexdigest()[:32]


def tidy_examples(texts: Iterable[object]) -> tuple[str, ...]:
    """What can be used of a list that anybody may have written: texts in one line each, without control characters."""
    plain = ("".join(sign if sign.isprintable() else " " for sign in one) for one in texts if isinstance(one, str))
    lines = (" ".join(one.split())[:LONGEST_EXAMPLE].strip() for one in plain)
    return tuple(dict.fromkeys(one for one in lines if one))[:MOST_EXAMPLES]


# ── the file ──


def examples_file(root: str) -> str:
    """Where the examples for the tools of a folder are, or would be."""
    key = os.path.realpath(root).encode(errors="replace")
    return os.path.join(state_folder(), "examples", f"{sha256(key).hexdigest()[:32]}.json")


def load_requests(root: str) -> dict[str, Requests]:
    """What was written for the tools of a folder, by name. Raises StoreError for a file that cannot be used."""
    path = examples_file(root)
    if not os.path.lexists(path):
        return {}
    from rightcall.router.packets import read

    try:
        data = read(path, _MOST_BYTES)
        if len(data) > _MOST_BYTES:
            raise StoreError(f"the examples in {path} are more than {_MOST_BYTES:,} bytes", "corrupt")
        found = msgspec.json.decode(data, type=dict[str, Requests])
    except OSError as fault:
        raise StoreError(f"the examples in {path} cannot be read: {fault.strerror or fault}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        said = escaped(str(fault), 200)
        raise StoreError(f"the examples in {path} are damaged: {said}; correct or remove the file", "corrupt") from None
    return {name: replace(one, examples=tidy_examples(one.examples)) for name, one in found.items()}


def keep_requests(root: str, name: str, written: Requests) -> None:
    """Add those of one tool to the file, read anew: a person may have edited it meanwhile. Raises StoreError."""
    from rightcall.router.packets import make_folder, write

    path, found = examples_file(root), load_requests(root)
    if name in found and found[name].by == YOU:
        return
    listed = json.dumps(msgspec.to_builtins(found | {name: written}), ensure_ascii=False, indent=2) + "\n"
    try:
        make_folder(os.path.dirname(path))
        write(path, listed.encode(errors="replace"))
    except OSError as fault:
        raise StoreError(f"the examples cannot be saved to {path}: {fault.strerror or fault}") from None


def with_written(tools: Iterable["ToolText"], root: str) -> list["ToolText"]:
    """The same tools; those without examples have what was written for them. A damaged file is told and left out."""
    try:
        written = load_requests(root)
    except (StoreError, OSError) as fault:
        _log.warning("rightcall: %s", fault)
        written = {}
    found: list[ToolText] = []
    for tool in tools:
        own = None if tool.examples else written.get(tool.name)
        fits = own is not None and own.fits(digest_of(tool.name, tool.description, tool.parameters))
        found.append(replace(tool, examples=own.examples) if own is not None and fits else tool)
    return found


# ── the model ──

_PROMPT = """\
Here is a tool that an assistant can use:

{definition}

Write ten requests that people would type into a chat when they need this tool. They do not know the tool, so they do \
not name it. Use everyday words, with concrete values where a request would have them. Let the requests differ in \
wording, length and detail. Answer with a JSON list of ten texts and nothing else."""


async def ask_for_requests(model: "Model", tool: "ToolText", gate: "Gate") -> Requests:
    """What a model writes for one tool. Raises ModelError: `unreadable` where it answered, but with no such list."""
    from rightcall.gate.repair.arguments import loads
    from rightcall.models.replies import ask, asker, failure_of, options_taken
    from rightcall.router.choose import taken_apart

    definition = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    shown = json.dumps(definition, ensure_ascii=False, default=str)[:_LONGEST_DEFINITION]
    messages: list[Any] = [{"role": "user", "content": _PROMPT.format(definition=shown)}]
    options = options_taken(model, {"temperature": 0.7, "max_tokens": _MOST_TOKENS})
    written = await ask(asker(model), messages, options)
    if (failure := failure_of(written)) is not None:
        raise ModelError(failure, "unreachable")
    try:
        parsed = loads(taken_apart(gate, written).text)
    except Unreadable:
        raise ModelError("the model wrote no JSON list of requests") from None
    value: Any = parsed.value
    if is_object(value):  # {"requests": […]}, as models do that were told to answer with an object
        value = next((one for one in value.values() if is_list(one)), None)
    listed: list[Any] = value if is_list(value) else []
    found = tidy_examples(listed[:-1] if parsed.truncated else listed)
    if not found:
        raise ModelError("the model wrote no JSON list of requests")
    return Requests(
        found, f"model {getattr(model, 'model', '')}".strip(), digest_of(tool.name, tool.description, tool.parameters)
    )
