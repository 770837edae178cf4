"""A second evaluator of the policy, written to be obvious: it reads the raw policy and a list of past events, and
counts by looking at all of them. Shares no code with the package."""

import fnmatch
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rightcall.policy.decide import decide
from rightcall.policy.settings import Settings
from rightcall.policy.types import rights_of
from support.policy_worlds import START, ours, policy, request, settings_of, tables_of, world

READ = ["code/read", "code/search", "code/list", "code/diff", "code/log", "code/blame", "code/show", "data/list",
        "data/read", "ping", "debug/logs", "system/monitor", "ai/report", "analytics/tool-usage"]  # fmt: skip
SANDBOX = [*READ, "code/execute/python", "code/execute/javascript", "screenshot"]
WRITE = [*SANDBOX, "file/save", "code/create-branch", "code/create-test"]
FULL = [*WRITE, "code/edit", "code/commit", "code/pull-request", "code/review", "code/merge"]
STAGES = {"read-only": READ, "sandbox": SANDBOX, "limited-write": WRITE, "full": FULL}
NUMBERS = {
    "swarm": {"all": (100, 2000, 0), "caller": (10, 200, 3), "code/read": 5, "code/search": 3,
              "code/execute/python": 2},
    "personal": {"all": (1000, 20000, 0), "caller": (100, 2000, 30), "code/read": 50, "code/search": 30,
                 "code/execute/python": 20},
}  # fmt: skip
SECONDS = {"minute": 60, "hour": 3600, "burst": 1}


def like(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), name, re.DOTALL) is not None


def loose(name: str) -> str:
    return re.sub(r"[/._:\s-]+", "_", name.casefold())


def verdict(policy: dict[str, Any], request: dict[str, Any], world: dict[str, Any]) -> tuple[str, str]:
    """(kind, rule) of the decision."""
    rules, caller = as_denied(policy.get("policy", {}), policy.get("callers", {}).get(request["caller"], {}))
    objection = (
        denied(rules, caller, request)
        or not_listed(rules, caller, request)
        or unbatchable(rules, request)
        or quarantined(rules, request, world)
        or cut_off(request)
        or bad_path(rules, request)
        or looping(rules, request, world)
        or too_often(rules, caller, request, world)
        or redefined(rules, request, world)
    )
    if objection:
        return objection
    effect, word = strictest(rules, caller, request)
    if word == "dry-run":
        return "dry_run", "dry_run"
    listed = f"allow:{effect}" if word == "allow" else str(why_listed(rules, caller, request))
    return person(rules, request, world, effect if word == "ask" else None) or ("allow", listed)


def as_denied(rules: Any, caller: Any) -> tuple[Any, Any]:
    """What everybody is denied, no word of a caller or of a tool permits."""
    for effect in ("write", "execute", "network"):
        if rules.get(effect) == "deny":
            caller = {key: "deny" if key == effect else value for key, value in caller.items()}
            tools = rules.get("tools", {})
            rules = rules | {
                "tools": {one: table | {effect: "deny"} if effect in table else table for one, table in tools.items()}
            }
    return rules, caller


STRICTNESS = ["", "allow", "ask", "dry-run", "deny"]


def strictest(rules: Any, caller: Any, request: Any) -> tuple[str, str]:
    """The strictest word on what a call does, and on which effect it is; nothing where nobody says a word."""
    found = ("", "")
    for effect in ("write", "execute", "network"):
        if effect in request["effects"]:
            word = word_on(effect, rules, caller, [request["tool"], *request["inner"]])
            if STRICTNESS.index(word) > STRICTNESS.index(found[1]):
                found = (effect, word)
    return (found[0], "ask") if found[1] == "allow" and "code/merge" in [request["tool"], *request["inner"]] else found


def word_on(effect: str, rules: Any, caller: Any, names: list[str]) -> str:
    usual = caller.get(effect) or rules.get(effect) or ("" if effect == "network" else "dry-run")
    said = [(one, table[effect]) for one, table in rules.get("tools", {}).items() if effect in table]
    words = []
    for name in names:
        own = [word for one, word in said if like(one, name)]
        mine = [caller[effect]] if own and effect in caller else []
        words.append(max([*own, *mine] or [usual], key=STRICTNESS.index))
        words += [word for one, word in said if like(loose(one), loose(name))]
        words += mine if any(like(loose(one), loose(name)) for one, _ in said) else []
    return max(words, key=STRICTNESS.index)


def turned_on(rules: Any, caller: Any, tool: str, effects: Any) -> str | None:
    """The effect by whose word a function of the program runs without being on a list."""
    wanted = [effect for effect in ("write", "execute", "network") if effect in effects]
    tables = {} if "stage" in caller else rules.get("tools", {})
    on = [
        effect
        for effect in wanted
        if word_of(rules, caller, effect) != "deny"
        or any(like(one, tool) and word_in(table, effect, caller) != "deny" for one, table in tables.items())
    ]
    missing = [one for one in wanted if one not in on and not (one == "network" and "execute" in on)]
    return on[0] if on and not missing else None


def word_of(rules: Any, caller: Any, effect: str) -> str:
    """What turns tools on: where a caller has a stage of its own, only its own words."""
    return caller.get(effect) or ("" if "stage" in caller else rules.get(effect)) or "deny"


def word_in(table: Any, effect: str, caller: Any) -> str:
    if effect not in table:
        return "deny"
    return max([table[effect], caller.get(effect, "")], key=STRICTNESS.index)


def denied(rules: Any, caller: Any, request: Any) -> Any:
    effect, word = strictest(rules, caller, request)
    if word == "deny":
        return "deny", f"deny:{effect}"
    for tool in [request["tool"], *request["inner"]]:
        # where both deny the same name, the caller's word names the rule
        merged = dict.fromkeys(rules.get("deny", []), "policy:deny")
        merged |= dict.fromkeys(caller.get("deny", []), "caller:deny")
        for pattern, rule in merged.items():
            if like(pattern, tool) or like(loose(pattern), loose(tool)):
                return "deny", rule
    return None


def why_listed(rules: Any, caller: Any, request: Any, tool: str | None = None) -> str | None:
    name = tool or request["tool"]
    if "only" in caller:
        return "caller:only" if any(like(one, name) for one in caller["only"]) else None
    stage = caller.get("stage", rules.get("stage", "read-only"))
    for one in caller.get("allow", []):
        if one == name:
            return "caller:allow"
    for one in rules.get("allow", []):
        if one == name:
            return "policy:allow"
    if name in STAGES[stage]:
        return f"stage:{stage}"
    by_word = shipped_on(rules, caller, name)
    reads = set(request["effects"]) <= {"read"}
    if by_word and (reads or turned_on(rules, caller, name, request["effects"])):
        return by_word
    # patterns, in the order policy then caller; one named by both is the caller's
    for one in [*rules.get("allow", []), *caller.get("allow", [])]:
        if "*" in one and like(one, name):
            return "caller:allow" if one in caller.get("allow", []) else "policy:allow"
    if tool is not None or not request["own"]:
        return None
    if set(request["effects"]) <= {"read"}:
        return "stage:own"
    effect = turned_on(rules, caller, name, request["effects"])
    return effect and f"allow:{effect}"


def shipped_on(rules: Any, caller: Any, name: str) -> str | None:
    for effect, tools in TURNED_ON.items():
        if name in tools and word_of(rules, caller, effect) != "deny":
            return f"allow:{effect}"
    for one, table in ({} if "stage" in caller else rules.get("tools", {})).items():
        for effect in ("write", "execute", "network"):
            if one == name and word_in(table, effect, caller) != "deny":
                return f"allow:{effect}"
    return None


TURNED_ON = {
    "write": ("file/save", "code/create-branch", "code/create-test"),
    "execute": ("code/execute/python", "code/execute/javascript"),
}


def not_listed(rules: Any, caller: Any, request: Any) -> Any:
    if why_listed(rules, caller, request) is None:
        return "deny", "allowlist"
    if any(tool == "" or why_listed(rules, caller, request, tool) is None for tool in request["inner"]):
        return "deny", "allowlist"
    return None


def unbatchable(rules: Any, request: Any) -> Any:
    """Inside a batch nobody counts a tool and nobody is asked about it, so it must be one that needs neither."""
    asking = rules.get("approval", {}).get("tools", [])
    preset = {name: {"minute": most} for name, most in NUMBERS[rules.get("preset", "personal")].items() if "/" in name}
    stated = rules.get("limits", {}).get("tools", {})
    limited = [name for name in {**preset, **stated} if any({**preset.get(name, {}), **stated.get(name, {})}.values())]
    for tool in request["inner"]:
        if loose(tool) in [loose(name) for name in limited]:
            return "deny", "batch"
        if any(like(one, tool) or like(loose(one), loose(tool)) for one in asking):
            return "deny", "batch"
    return None


def quarantined(rules: Any, request: Any, world: Any) -> Any:
    most = rules.get("quarantine", 5)
    same = [e for e in world["refusals"] if (e["caller"], e["digest"]) == (request["caller"], request["digest"])]
    recent = [e for e in same if e["ago"] < 3600]
    return ("deny", "quarantine") if most and len(recent) >= most else None


def cut_off(request: Any) -> Any:
    return ("deny", "truncated") if request["truncated"] and set(request["effects"]) - {"read"} else None


def bad_path(rules: Any, request: Any) -> Any:
    """Only the paths of the generator: a plain one, one outside, one that the policy denies, a secret, a dotfile."""
    paths = rules.get("paths", {})
    for path in request["paths"]:
        if path.startswith("/"):
            return "deny", "path:outside"
        if any(fnmatch.fnmatchcase(path, one.replace("**", "*")) for one in paths.get("deny", [])):
            return "deny", "path:deny"
        if any(fnmatch.fnmatchcase(path, one.replace("**", "*")) for one in paths.get("allow", [])):
            continue
        if path.endswith(".pem"):
            return "deny", "path:secret"
        if path.startswith(".") and path != ".gitignore" and path not in paths.get("dotfiles", []):
            return "deny", "path:dotfile"
    return None


def looping(rules: Any, request: Any, world: Any) -> Any:
    times = rules.get("repeats", 3)
    if not times or request["repeatable"]:
        return None
    same = [e for e in world["calls"] if all(e[key] == request[key] for key in ("caller", "digest", "state"))]
    same = [e for e in same if e["changes"] == world["changes"] and e["ago"] < 60]
    return ("deny", "loop") if len(same) >= times - 1 else None


def too_often(rules: Any, caller: Any, request: Any, world: Any) -> Any:
    """Of several full windows the one that is full the longest counts; then all before caller before tool, and minute
    before hour before burst."""
    numbers = NUMBERS[rules.get("preset", "personal")]
    limits = rules.get("limits", {})

    def window(base: Any, *tables: Any) -> dict[str, int]:
        found: dict[str, int] = {"minute": base[0], "hour": base[1], "burst": base[2]}
        for table in tables:
            found |= table
        return found

    of_tool = limits.get("tools", {}).get(request["tool"], {})
    scopes = [
        ("all", window(numbers["all"], limits.get("all", {})), lambda e: True),
        ("caller", window(numbers["caller"], limits.get("caller", {}), caller.get("limits", {})),
         lambda e: e["caller"] == request["caller"]),
        ("tool", window((numbers.get(request["tool"], 0), 0, 0), of_tool),
         lambda e: e["caller"] == request["caller"] and e["tool"] == request["tool"]),
    ]  # fmt: skip
    full: list[tuple[float, str]] = []
    for name, sizes, counts in scopes:
        for period, seconds in SECONDS.items():
            if not sizes[period]:
                continue
            ages = sorted(e["ago"] for e in world["calls"] if counts(e))
            if len([age for age in ages if age < seconds]) >= sizes[period]:
                full.append((seconds - ages[sizes[period] - 1], f"limit:{name}:{period}"))
    if not full:
        return None
    longest = max(left for left, _ in full)
    return "deny", next(rule for left, rule in full if left == longest)


def redefined(rules: Any, request: Any, world: Any) -> Any:
    if not rules.get("approval", {}).get("definitions", True):
        return None
    known = world["definitions"].get(request["tool"])
    if not known or known == request["definition"]:
        return None
    for answer in world["answers"]:
        about = (answer["tool"], answer["definition"]) == (request["tool"], request["definition"])
        if about and answer["status"] == "denied" and answer["left"] > 0:
            return "deny", "approval:denied"
    return "ask", "definition:changed"


def person(rules: Any, request: Any, world: Any, asks: str | None) -> Any:
    if request["approval"] is not None:
        return named(request, world)
    asking = rules.get("approval", {})
    tool = request["tool"]
    why = None
    if (
        request["repaired"]
        and set(request["effects"]) - {"read"}
        and request["confidence"] < asking.get("confidence", 0.9)
    ):
        why = "approval:confidence"
    elif any(like(one, tool) or like(loose(one), loose(tool)) for one in asking.get("tools", [])):
        why = "approval:tool"
    elif asks is not None:
        why = f"approval:{asks}"
    if why is None:
        return None
    mine = [a for a in world["approvals"] if about_this(a, request) and a["left"] > 0]
    if any(a["status"] == "approved" for a in mine):
        return "allow", "approval:given"
    if any(a["status"] == "denied" for a in mine):
        return "deny", "approval:denied"
    grants = [g for g in world["grants"] if (g["caller"], g["tool"]) == (request["caller"], tool) and g["left"] > 0]
    if (
        why != "approval:confidence"
        and not request["linked"]
        and any(g["where"] in ({}, {"n": request["n"]}) for g in grants)
    ):
        return "allow", "approval:grant"
    return "ask", why


def about_this(approval: Any, request: Any) -> bool:
    return all(approval[key] == request[key] for key in ("caller", "digest", "definition", "state"))


def named(request: Any, world: Any) -> tuple[str, str]:
    """The approval that the caller itself names: it must be for this very call, and good."""
    found = [a for a in world["approvals"] if a["id"] == request["approval"]]
    if not found:
        return "deny", "approval:unknown"
    approval = found[0]
    if not about_this(approval, request):
        return "deny", "approval:mismatch"
    if approval["left"] <= 0:
        return "deny", "approval:expired"
    words = {"approved": ("allow", "approval:given"), "waiting": ("ask", "approval:waiting")}
    return words.get(approval["status"], ("deny", f"approval:{approval['status']}"))


class Case(NamedTuple):
    policy: dict[str, Any]
    settings: Settings
    """The same policy as the package reads it."""
    request: dict[str, Any]
    world: dict[str, Any]


def rounds(chance: random.Random, *, policies: int, requests: int) -> Iterator[Case]:
    for _ in range(policies):
        rules = policy(chance)
        settings = settings_of(rules)
        asked = [request(chance) for _ in range(requests)]
        for one in asked:
            yield Case(rules, settings, one, world(chance, asked, one))


def disagreement(case: Case) -> str | None:
    """What they say, where that differs."""
    tables = tables_of(case.world, case.settings)
    decision = decide(ours(case.request, rights_of(case.settings, case.request["caller"]), START), tables)
    expected = verdict(case.policy, case.request, case.world)
    if (decision.kind, decision.rule) == expected:
        return None
    return f"the package says {decision.kind} by {decision.rule}, the obvious one {expected}: {case}"
