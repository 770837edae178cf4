"""RightCall's meta-reasoning gate for Agent Zero: corrects tool calls before they run, warns, and does not block.

The same file stands in up to three folders of extensions, and does there what the folder is for:

tool_execute_before    argument names, values, defaults; a warning where something needed is missing
tool_execute_after     completes the record of the call (only with the package `rightcall` and a policy file)
.../validate_tool_request/start    names and shapes of requests that Agent Zero would stop at, before it looks them up

It works alone, by the rules below. Where `rightcall` can be imported, its whole engine decides; with a policy file
(RIGHTCALL_POLICY, or `rightcall.toml` in Agent Zero's folder or in its `usr`) calls are also recorded, and refused
where that file says `[gate.hosts.agent-zero] mode = "block"`. Remove the file to undo everything.
"""

import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

# Agent Zero has loaded its own extension module before it loads this file; which one tells the layout apart. Nothing
# here may fail while the file is read: that would stop every extension of the folder.
_HELPERS = "helpers" if "helpers.extension" in sys.modules else "python.helpers"
Extension: Any = getattr(sys.modules.get(f"{_HELPERS}.extension"), "Extension", object)

# Made from pack `agent-zero` by `python -m rightcall.hosts.agent_zero`; change the pack, not these lines.
# fmt: off
TOOL_SCHEMAS: dict[str, dict[str, Any]] = {
    'code_execution_tool': {'required': ['runtime', 'code'], 'optional': ['session', 'reset'],
        'conditionally_required': {'code': {'skip_when': {'runtime': ['output']}}}, 'arg_aliases': {'command': 'code',
        'script': 'code', 'cmd': 'code', 'language': 'runtime', 'lang': 'runtime'}, 'value_aliases': {'runtime':
        {'bash': 'terminal', 'shell': 'terminal', 'sh': 'terminal', 'zsh': 'terminal', 'cmd': 'terminal',
        'powershell': 'terminal', 'node': 'nodejs', 'js': 'nodejs', 'javascript': 'nodejs', 'py': 'python', 'python3':
        'python'}}, 'defaults': {'session': 0, 'reset': False}},
    'response': {'required': ['text'], 'arg_aliases': {'message': 'text', 'content': 'text', 'response': 'text',
        'answer': 'text', 'reply': 'text'}},
    'call_subordinate': {'required': ['message'], 'optional': ['reset', 'profile'], 'arg_aliases': {'task': 'message',
        'instruction': 'message', 'instructions': 'message', 'text': 'message', 'query': 'message', 'prompt':
        'message'}},
    'memory_load': {'required': ['query'], 'optional': ['threshold', 'limit', 'filter'], 'arg_aliases': {'search':
        'query', 'text': 'query', 'question': 'query', 'lookup': 'query'}},
    'memory_save': {'required': ['text'], 'optional': ['area'], 'arg_aliases': {'content': 'text', 'memory': 'text',
        'data': 'text', 'message': 'text'}},
    'search_engine': {'required': ['query'], 'arg_aliases': {'search': 'query', 'text': 'query', 'question': 'query',
        'q': 'query'}},
    'browser_agent': {'required': ['message'], 'optional': ['reset'], 'arg_aliases': {'task': 'message',
        'instruction': 'message', 'text': 'message', 'query': 'message', 'url': 'message'}},
    'skills_tool': {'required': ['method'], 'arg_aliases': {'action': 'method', 'command': 'method', 'operation':
        'method'}},
}
# fmt: on

_NAMES = ("toolname", "tool", "functionname", "function", "name", "action")
_ARGUMENTS = ("toolargs", "args", "toolarguments", "arguments", "toolparameters", "parameters", "params", "toolinput",
              "actioninput", "input")  # fmt: skip
_WRAPPERS = ("toolcall", "toolcalls", "function", "functioncall", "toolrequest")
_ASIDE = ("thoughts", "headline", "id", "type")
_MOST = 100  # characters of a name that the log shows
CUT_OFF = "was truncated and did not run. Resend the complete request, shorter if needed."
_PLACE = re.compile(r"""[{\[,:]\s*("{3}|["'`])?|[}\]]""")
_ENDS = {quote: re.compile(rf"(?:\\[\s\S]|(?!{quote})[\s\S])*{quote}") for quote in ('"""', '"', "'", "`")}


class MetaReasoningGate(Extension):
    """What Agent Zero makes for every call, and hands the call."""

    def __init__(self, agent: Any = None, **kwargs: Any) -> None:
        self.agent, self.kwargs = agent, kwargs

    async def execute(
        self, tool_args: dict[str, Any] | None = None, tool_name: str = "", response: Any = None,
        data: dict[str, Any] | None = None, **_kwargs: Any,
    ) -> None:  # fmt: skip
        refusal = None
        try:
            if data is not None:
                self._before_lookup(data)
            elif response is not None:
                await self._after(response)
            elif tool_name:
                refusal = await self._before({} if tool_args is None else tool_args, tool_name)
        except Exception as error:  # noqa: BLE001  warn-only means that no fault of ours may stop a tool
            refusal = _stops(_policy_file(), f"the gate failed ({error})") if tool_name and response is None else None
            self._log("warning", f"[MetaGate] {refusal or f'Error (passthrough): {error}'}")
        if refusal:
            raise _repairable(refusal)

    async def _before(self, tool_args: dict[str, Any], tool_name: str) -> str | None:
        """Correct the arguments in place; a text is why the call must not run."""
        schema = TOOL_SCHEMAS.get(tool_name, {})
        method = getattr(self._loop("current_tool"), "method", None)
        if tool_args and method and "method" in schema.get("required", ()):
            tool_args.setdefault("method", method)  # `skills_tool:list` says it in the name
        policy, engine, cut = _policy_file(), _engine(), is_cut(str(self._loop("last_response") or ""))
        if engine is not None:
            more: dict[str, Any] = {"secrets": self._secrets() if policy else None, **({"cut": True} if cut else {})}
            return await engine.before(self.agent, tool_args, tool_name, policy=policy, **more)
        if policy is not None:
            why = _stops(policy, "the package rightcall is not installed")
            self._log("warning", f"[MetaGate] {why or f'{policy} is not in force: no package rightcall is installed'}")
            if why:
                return why
        if cut:
            self._log("warning", f"[MetaGate] Tool '{_shown(tool_name)}' was cut off")
            return f"Tool '{_shown(tool_name)}' {CUT_OFF}"
        if tool_args and schema:
            for kind, line in correct(tool_args, schema):
                self._log(kind, f"[MetaGate] {line}")
            for log_line, warning in complaints(tool_args, schema):
                self._log("warning", f"[MetaGate] Tool '{tool_name}' {log_line}")
                added = self.agent.hist_add_warning(f"Tool '{tool_name}' {warning}")
                if inspect.isawaitable(added):
                    await added
        return None

    async def _after(self, response: Any) -> None:
        if _policy_file() and (engine := _engine()) is not None:  # without a policy nothing is recorded
            await engine.after(self.agent, response, secrets=self._secrets())

    def _secrets(self) -> Any:
        """Agent Zero's own, which knows what must not stand in a record; None in versions without."""
        try:
            secrets = import_module(f"{_HELPERS}.secrets")
        except ImportError:
            return None
        if not hasattr(secrets, "get_secrets_manager"):  # until 0.9.6
            return secrets.SecretsManager.get_instance()
        return secrets.get_secrets_manager(self.agent.context)

    def _before_lookup(self, data: dict[str, Any]) -> None:
        """Agent Zero asks twice, while an answer still comes in and when it is there: same answer, logged once."""
        given: list[Any] = [*(data.get("args") or ()), *(data.get("kwargs") or {}).values()]
        if (request := next((cast("dict[str, Any]", one) for one in given if isinstance(one, dict)), None)) is None:
            return
        for line in reshape(request, self._known_tools):
            self._once("info", f"[MetaGate] Auto-corrected {line}")
        name, arguments = request.get("tool_name"), request.get("tool_args")
        if not isinstance(name, str) or not name or (isinstance(arguments, dict) and arguments):
            return  # right, or no call: Agent Zero says so itself
        if arguments is None or arguments == {}:
            filled = request["tool_args"] = dict[str, Any]()
            refusal = self._fill(filled, name, empty=arguments == {})
        else:
            refusal = f"Tool '{_shown(name)}' has tool_args that are no object. Correct them and retry."
        if refusal:  # Agent Zero would stop here too, but for good
            data["exception"] = _repairable(refusal)
        elif not request["tool_args"]:
            data["result"] = None  # as if it had been validated: without arguments is how the model meant it

    def _fill(self, arguments: dict[str, Any], name: str, *, empty: bool) -> str | None:
        """Defaults for a call without arguments; a text is what to tell the model instead."""
        tool, _, method = name.partition(":")
        required = (schema := TOOL_SCHEMAS.get(tool, {})).get("required", [])
        if method and "method" in required:
            arguments["method"] = method
        arguments.update(schema.get("defaults", {}))
        answer = str(self._loop("last_response") or "")  # one that was cut off has an empty object too, once mended
        if arguments or (empty and not required and answer and not is_cut(answer)):
            return None
        if not required:
            return f"Tool '{_shown(tool)}' came without arguments. Give them in tool_args and retry."
        self._once("warning", f"[MetaGate] Tool '{tool}' missing required args: {required}")
        return f"Tool '{tool}' {_is_missing(required)}"

    def _loop(self, name: str) -> Any:
        """What Agent Zero keeps of the turn: `last_response` is the model's whole answer."""
        return getattr(getattr(self.agent, "loop_data", None), name, None)

    def _known_tools(self) -> list[str]:
        """The tools this agent has: the files in its tools folders, and those of its MCP servers."""
        names = set(TOOL_SCHEMAS)
        with suppress(Exception):  # what cannot be listed is not renamed to
            for folder in import_module(f"{_HELPERS}.subagents").get_paths(self.agent, "tools"):
                names.update(file.stem for file in Path(folder).glob("*.py"))
        with suppress(Exception):
            for tool in sys.modules[f"{_HELPERS}.mcp_handler"].MCPConfig.get_instance().get_tools():
                names.update(tool)
        return sorted(names)

    def _once(self, kind: str, content: str) -> None:
        """Once for each answer of the model, however often Agent Zero asks."""
        said = self._loop("params_temporary")
        if isinstance(said, dict):
            if content in (lines := cast("dict[str, list[str]]", said).setdefault("_meta_reasoning_gate", [])):
                return
            lines.append(content)
        self._log(kind, content)

    def _log(self, kind: str, content: str) -> None:
        with suppress(Exception):  # a broken log is no reason to stop a tool either
            self.agent.context.log.log(type=kind, content=content)


def correct(tool_args: dict[str, Any], schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Names, then values, then defaults, in place. What was done, for the log."""
    done: list[tuple[str, str]] = []
    for correct_name, wrong_names in _given_for(tool_args, schema).items():
        if len(wrong_names) == 1 and _is_blank(tool_args.get(correct_name)):
            tool_args[correct_name] = tool_args.pop(wrong_names[0])
            done.append(("info", f"Auto-corrected arg '{wrong_names[0]}' → '{correct_name}'"))
    for name, words in schema.get("value_aliases", {}).items():
        value = tool_args.get(name)
        word = value.lower().strip() if isinstance(value, str) else None
        if word in words:
            tool_args[name] = words[word]
            done.append(("info", f"Auto-corrected {name} value '{word}' → '{words[word]}'"))
    for name, value in schema.get("defaults", {}).items():
        tool_args.setdefault(name, value)
    return done


def complaints(tool_args: dict[str, Any], schema: dict[str, Any]) -> list[tuple[str, str]]:
    """What is still wrong: for the log, and for the model."""
    missing = [name for name in schema.get("required", ()) if _is_missing_in(tool_args, name, schema)]
    said = [(f"missing required args: {missing}", _is_missing(missing))] if missing else []
    several = _given_for(tool_args, schema)
    for name in missing:
        if names := several.get(name):
            only = f"has several arguments for {name}: {', '.join(names)}. Give only {name} and retry."
            said.append((f"has several args for '{name}': {names}", only))
    return said


def _given_for(tool_args: dict[str, Any], schema: dict[str, Any]) -> dict[str, list[str]]:
    """The wrong names that were given, by the name they mean, in the order of the rules."""
    meant: dict[str, list[str]] = {}
    for wrong_name, correct_name in schema.get("arg_aliases", {}).items():
        if wrong_name in tool_args:
            meant.setdefault(correct_name, []).append(wrong_name)
    return meant


def is_cut(answer: str) -> bool:
    """Whether an answer ends inside its call. Agent Zero's reader closes what is open, and would run half of it."""
    depth, at = 0, answer.find("{")
    while at >= 0 and (place := _PLACE.search(answer, at)):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(place[0][0], 0)
        if depth <= 0:
            return False
        end = _ENDS[place[1]].match(answer, place.end()) if place[1] else place
        if end is None:
            return True
        at = end.end()
    return depth > 1  # the outermost brace alone is often forgotten, and nothing is lost with it


def _is_missing_in(tool_args: dict[str, Any], name: str, schema: dict[str, Any]) -> bool:
    skip_when = schema.get("conditionally_required", {}).get(name, {}).get("skip_when", {})
    skips = any(str(tool_args.get(other, "")).lower().strip() in values for other, values in skip_when.items())
    return not skips and _is_blank(tool_args.get(name))


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_missing(names: list[str]) -> str:
    return f"is missing required arguments: {', '.join(names)}. Check the tool usage format and retry."


def reshape(request: dict[str, Any], known_tools: Callable[[], list[str]]) -> list[str]:
    """Bring a request into Agent Zero's shape, `tool_name` and `tool_args`, in place. What was done, for the log.

    Only what can be meant in one way: two candidates for one place are left alone, and a `name` that is no tool's.
    """
    _unwrap(draft := dict(request), done := list[str]())
    field = _field(draft, "tool_name", _NAMES, str)
    if field is None or not draft[field].strip():
        return []
    tool, colon, method = draft[field].strip().partition(":")
    meant = tool if tool in TOOL_SCHEMAS else _tool_named(tool, known_tools())
    if meant is None and _folded(field) not in ("tool", "toolname"):
        return []
    for place, key in (("tool_name", field), ("tool_args", _field(draft, "tool_args", _ARGUMENTS, (dict, str)))):
        if key is not None and key != place:
            draft[place] = draft.pop(key)
            done.append(f"request field '{_shown(key)}' → '{place}'")
    if meant is not None and meant != tool:
        done.append(f"tool name '{_shown(tool)}' → '{meant}'")
    draft["tool_name"] = (meant or tool) + colon + method
    _read_arguments(draft, TOOL_SCHEMAS.get(meant or tool, {}), done)
    request.clear()
    request.update(draft)
    return done


def _unwrap(request: dict[str, Any], done: list[str]) -> None:
    """The one call inside `{"tool_calls": [{"function": {…}}]}`, at most three deep."""
    for _ in range(3):
        inner = [key for key in request if _folded(key) in _WRAPPERS and isinstance(request[key], dict | list)]
        if len(inner) != 1 or isinstance(request.get("tool_name"), str):
            return
        call = request[inner[0]]
        if isinstance(call, list) and len(cast("list[Any]", call)) == 1:
            call = cast("list[Any]", call)[0]
        if not isinstance(call, dict):
            return
        del request[inner[0]]
        request.update(cast("dict[str, Any]", call))
        done.append(f"request shape '{_shown(inner[0])}'")


def _field(request: dict[str, Any], place: str, names: tuple[str, ...], types: Any) -> str | None:
    """The one field that holds what belongs in `place`."""
    if isinstance(request.get(place), types):
        return place
    given = [key for key in request if _folded(key) in names and isinstance(request[key], types)]
    return given[0] if len(given) == 1 else None


def _read_arguments(request: dict[str, Any], schema: dict[str, Any], done: list[str]) -> None:
    """Arguments that came as text, or beside the name instead of below `tool_args`."""
    arguments = request.get("tool_args")
    if isinstance(arguments, str) and arguments.strip():
        read = _object(arguments)
        if read is None and len(schema.get("required", ())) == 1 and arguments.lstrip()[0] not in "{[<":
            read = {schema["required"][0]: arguments}
        if read is not None:
            request["tool_args"] = read
            done.append("tool_args (text)")
    elif arguments is None and "tool_args" not in request:
        own = {*schema.get("required", ()), *schema.get("optional", ()), *schema.get("arg_aliases", ())}
        beside = [key for key in request if key in own and key not in (*_ASIDE, "tool_name")]
        if beside:
            request["tool_args"] = {key: request.pop(key) for key in beside}
            done.append(f"request fields {beside} → 'tool_args'")


def _tool_named(name: str, known: list[str]) -> str | None:
    """The one tool that is meant by a name nobody has; None where that is not certain."""
    if name in known:
        return name
    if (engine := _engine()) is not None:
        return engine.tool_named(name, known)
    alike = [tool for tool in known if _folded(tool) == _folded(name)]
    return alike[0] if len(alike) == 1 else None


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()) if len(name) <= _MOST else ""


def _object(text: str) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        return cast("dict[str, Any]", value) if isinstance(value := json.loads(text), dict) else None
    return None


def _shown(name: str) -> str:
    """A name that a model wrote, without anything that could disguise the line it stands in."""
    return ascii(name[:_MOST])[1:-1]


def _engine() -> Any:
    """The package's part of this; None where it is not installed, or not in a state to be used."""
    try:
        return import_module("rightcall.hosts.agent_zero")
    except Exception:  # noqa: BLE001  whatever is wrong with it, the rules above still work
        return None


def _policy_file() -> str | None:
    return os.environ.get("RIGHTCALL_POLICY") or next(filter(os.path.isfile, _policy_places()), None)


@cache
def _policy_places() -> list[str]:
    """From the folder of this file up to Agent Zero's own: the nearest `rightcall.toml` holds."""
    folders = list(Path(__file__).resolve().parents)
    own = next((number for number, folder in enumerate(folders, 1) if (folder / "agent.py").is_file()), 0)
    return [str(folder / "rightcall.toml") for folder in folders[:own]]


def _stops(policy: str | None, why: str) -> str | None:
    """What to refuse a call with that cannot be judged, where the policy wants that; None where it only warns."""
    if policy is None:
        return None
    try:
        import tomllib

        with open(policy, "rb") as file:
            here = tomllib.load(file).get("gate", {}).get("hosts", {}).get("agent-zero", {})
        mode = here.get("mode", "warn")
        stops = here.get("on_failure", "deny" if mode == "block" else "allow") != "allow"
    except Exception as error:  # noqa: BLE001  a rule that cannot be read is not loosened
        return f"No tool may run: {why}, and the policy {policy} cannot be read ({error})."
    return f"No tool may run: {why}, and the policy {policy} blocks what cannot be judged." if stops else None


def _repairable(message: str) -> Exception:
    """What Agent Zero tells the model instead of stopping."""
    try:
        return import_module(f"{_HELPERS}.errors").RepairableException(message)
    except (ImportError, AttributeError):
        return RuntimeError(message)
