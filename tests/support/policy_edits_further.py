"""Further edits of the policy in `policy_edits`: several keys at once, patterns, edits for one caller or tool, and
edits that undo what another one does. Each with one kind of change that it must show."""

from typing import Any

from support.policy_edits import BASE, Edit, drop, put

EFFECTS: dict[str, Any] = BASE["servers"]["files"]["effects"]


def both(*edits: Edit) -> Edit:
    def edit(policy: dict[str, Any]) -> None:
        for one in edits:
            one(policy)

    return edit


def caller(name: str, **words: Any) -> Edit:
    return both(*(put("callers", name, key, value=value) for key, value in words.items()))


def policy(key: str, value: Any) -> Edit:
    return put("policy", key, value=value)


def limits(key: str, **words: Any) -> Edit:
    return put("policy", "limits", key, value={"minute": 0, "hour": 0, "burst": 0, **words})


FURTHER: dict[str, tuple[Edit, str]] = {
    # names and patterns
    "allow one tool only": (policy("allow", ["look"]), "refused"),
    "allow nothing": (policy("allow", []), "refused"),
    "allow by the end of a name": (policy("allow", ["*ook", "*ad"]), "refused"),
    "deny beats allow": (both(policy("allow", ["*"]), policy("deny", ["no*"])), "refused"),
    "deny all of a server": (policy("deny", ["files/*"]), "refused"),
    "deny one tool everywhere": (policy("deny", ["look", "files/look"]), "refused"),
    "deny in another spelling": (policy("deny", ["SAVE"]), "refused"),
    "deny a tool of nobody": (policy("deny", ["teleport"]), "unchanged"),
    "everything for nobody": (policy("deny", ["*"]), "refused"),
    # callers
    "a caller may use one tool": (caller("helper", only=["count"]), "refused"),
    "a caller may use tools of one server": (caller("default", only=["files/*"]), "refused"),
    "a caller is denied a pattern": (caller("default", deny=["files/s*"]), "refused"),
    "a caller's denial moves": (caller("pupil", deny=["get"]), "loosened"),
    "a caller executes after a question": (caller("pupil", deny=[], execute="ask"), "changed"),
    "a caller may not reach the network": (caller("default", network="deny"), "refused"),
    "a caller writes freely": (caller("helper", write="allow"), "loosened"),
    "nobody has a table": (drop("callers"), "loosened"),
    "a caller has a burst": (caller("default", limits={"minute": 0, "hour": 0, "burst": 1}), "refused"),
    "a caller has an hour": (caller("helper", limits={"minute": 0, "hour": 8, "burst": 0}), "refused"),
    "a caller has a day": (caller("pupil", calls_per_day=3), "refused"),
    # effects
    "execute is rehearsed": (policy("execute", "dry-run"), "tightened"),
    "execute is not said": (drop("policy", "execute"), "tightened"),
    "nothing but reading": (both(*(policy(one, "deny") for one in ("write", "execute", "network"))), "refused"),
    "everything asks": (both(*(policy(one, "ask") for one in ("write", "execute", "network"))), "asked"),
    "a tool may execute and no other": (
        both(policy("execute", "deny"), policy("tools", {"sh": {"execute": "allow"}})), "refused",
    ),
    "a tool is rehearsed": (policy("tools", {"sh": {"execute": "dry-run"}}), "tightened"),
    "a tool writes without a question": (policy("tools", {"files/save_file": {"write": "allow"}}), "loosened"),
    # limits
    "an hour for each caller": (limits("caller", hour=15), "refused"),
    "a minute for all, and one for each": (
        both(put("policy", "limits", "all", value={"minute": 20, "hour": 0}), limits("caller", minute=9)), "refused",
    ),
    "a minute for a pattern of tools": (
        put("policy", "limits", "tools", value={"sh": {"minute": 1}, "get": {"minute": 1}}), "refused",
    ),
    "a tool's limit is gone": (drop("policy", "limits", "tools"), "unchanged"),
    "a day for everybody": (put("policy", "limits", "calls_per_day", value=30), "refused"),
    "only a burst is left": (put("policy", "limits", value={"caller": {"burst": 2}}), "refused"),
    # repetitions
    "the second identical call": (both(policy("repeats", 2), policy("quarantine", 0)), "refused"),
    "a pattern may be polled": (policy("repeatable", ["l*"]), "loosened"),
    "everything may be polled": (policy("repeatable", ["*"]), "loosened"),
    "quarantine after three": (policy("quarantine", 3), "rule"),
    "quarantine later": (policy("quarantine", 50), "rule"),
    # approvals
    "everything of a server asks": (put("policy", "approval", "tools", value=["files/*"]), "asked"),
    "a pattern asks": (put("policy", "approval", "tools", value=["s*", "get"]), "asked"),
    "nobody may wait": (put("policy", "approval", "waiting", value=1), "refused"),
    "little may wait": (put("policy", "approval", "waiting_bytes", value=1000), "refused"),
    # paths, commands, addresses
    "a path by its ending": (put("policy", "paths", "deny", value=["**/*.md"]), "refused"),
    "every path": (put("policy", "paths", "deny", value=["**"]), "refused"),
    "a file by its name": (put("policy", "paths", "deny", value=["private/**", "a.txt"]), "refused"),
    "every command asks": (put("policy", "commands", "ask", value=["*"]), "asked"),
    "every command is denied": (put("policy", "commands", "deny", value=["*"]), "refused"),
    "a denied command asks": (
        both(put("policy", "commands", "deny", value=[]), put("policy", "commands", "ask", value=["shutdown *"])),
        "loosened",
    ),
    "what the starter list asks is allowed": (
        put("policy", "commands", "allow", value=["git push", "rm -rf *"]), "loosened",
    ),
    "every address is denied": (put("policy", "urls", "deny", value=["https://**"]), "refused"),
    "no starter list of addresses": (put("policy", "urls", "starter", value=False), "loosened"),
    "an address asks that was denied": (
        both(put("policy", "urls", "deny", value=[]), put("policy", "urls", "ask", value=["https://bad.example.org/**"])),
        "loosened",
    ),
    # the gate
    "unknown arguments are kept": (put("gate", "unknown_argument", value="keep"), "changed"),
    "nothing is repaired": (put("gate", "enabled", value=False), "refused"),
    "an alias that nobody misses is gone": (drop("gate", "tools", "look", "aliases"), "unchanged"),
    "two names": (put("gate", "tools", "look", "names", value=["glance", "looks"]), "repaired"),
    "a text must be longer": (put("gate", "tools", "note", value={"min_length": {"text": 5}}), "refused"),
    "a tool also executes": (put("gate", "tools", "look", "effects", value=["read", "execute"]), "changed"),
    "everything is only watched": (put("gate", "mode", value="observe"), "loosened"),
    # servers
    "a server offers one tool": (put("servers", "files", "allow", value=["note"]), "refused"),
    "a server denies what it asked": (put("servers", "files", "deny", value=["drop*", "note"]), "refused"),
    "a server only reads": (
        put("servers", "files", "effects", value={name: ["read"] for name in EFFECTS}), "loosened",
    ),
    "a server asks for everything": (put("servers", "files", "ask", value=["*"]), "asked"),
    # budgets
    "a budget for one tool": (put("policy", "budgets", "tools", value={"count": {"tokens": 55}}), "cost"),
    "no budget that is felt": (put("policy", "budgets", "tokens", value=100_000), "cost"),
}  # fmt: skip
