"""Settings files as people have them: tidy, odd, broken, each the bytes of one file; read as a host reads them, written
a second time and in another way than in the product."""

import json
import sys
from pathlib import Path
from typing import Any

from support.cli import ROOT

OTHERS = b"""{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "*",
        "hooks": [{ "type": "command", "command": "~/bin/guard.sh", "timeout": 5 }]
      }
    ],
    "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }]
  }
}
"""

FULL = b"""{
    "$schema": "https://example.org/settings.schema.json",
    "model": "opus",
    "permissions": {
        "allow": ["Bash(npm run test:*)", "Read(~/.zshrc)"],
        "deny": ["Read(./.env)"]
    },
    "env": {"API_TOKEN": "not-a-real-one"},
    "statusLine": {"type": "command", "command": "~/.claude/status.sh \\"x\\""},
    "cleanupPeriodDays": 20
}
"""

EDITABLE: dict[str, bytes] = {
    "an empty file": b"",
    "only a line end": b"\n",
    "only blanks and tabs": b" \t\r\n  ",
    "only a byte order mark": b"\xef\xbb\xbf",
    "an empty object": b"{}",
    "an empty object with a line end": b"{}\n",
    "an empty object over two lines": b"{\n}\n",
    "an empty object with a blank": b"{ }",
    "an object with nothing but a comment": b"{\n  // nothing yet\n}\n",
    "an object with a comment on its line": b"{ // nothing yet\n}\n",
    "an object with a comment in a line": b"{ /* nothing */ }",
    "two blanks, as most have": b'{\n  "model": "x",\n  "theme": "dark"\n}\n',
    "four blanks and many settings": FULL,
    "tabs": b'{\n\t"a": 1,\n\t"b": {\n\t\t"c": [1, 2]\n\t}\n}\n',
    "line ends of Windows": b'{\r\n  "a": 1,\r\n  "b": "x"\r\n}\r\n',
    "line ends of Windows, hooks there": OTHERS.replace(b"\n", b"\r\n"),
    "no line end at the end": b'{\n  "a": 1\n}',
    "all on one line": b'{"a": 1, "b": {"c": 2}}',
    "all on one line without blanks": b'{"a":1,"b":{"c":[1,2]}}',
    "one line without blanks, hooks there": b'{"hooks":{"PreToolUse":[{"hooks":[{"command":"x"}]}]}}\n',
    "a byte order mark": b'\xef\xbb\xbf{\n  "a": 1\n}\n',
    "a byte order mark on one line": b'\xef\xbb\xbf{"a": 1}',
    "comments of both kinds": b'{\n  // first\n  "a": 1, /* then */\n  "b": 2 // last\n}\n// the end\n',
    "a comment that holds brackets": b'{\n  "a": 1 /* ] } , " */\n}\n',
    "texts that look like comments": b'{\n  "url": "http://x/y", "p": "/* no */", "q": "// \\" no"\n}\n',
    "trailing commas": b'{\n  "a": [1, 2,],\n  "b": {"c": 1,},\n}\n',
    "a trailing comma and a comment": b'{\n  "a": 1, // why\n}\n',
    "others' hooks of the same pattern": OTHERS,
    "an empty object of hooks": b'{\n  "hooks": {}\n}\n',
    "an empty object of hooks over two lines": b'{\n  "hooks": {\n  },\n  "z": 1\n}\n',
    "an empty list of hooks": b'{\n  "hooks": {\n    "PreToolUse": [],\n    "BeforeTool": [ ]\n  }\n}\n',
    "a list of hooks with a comment": b'{\n  "hooks": {\n    "PreToolUse": [\n      // none\n    ]\n  }\n}\n',
    "hooks on one line": b'{\n  "hooks": {"PreToolUse": [{"hooks": []}], "BeforeTool": [{"matcher": "a"}]}\n}\n',
    "a comma before its line": b'{\n    "a": 1\n  , "b": 2\n  , "hooks": {}\n}\n',
    "brackets on lines of their own": b'{\n  "hooks":\n  {\n    "PreToolUse":\n    [\n      {}\n    ]\n  }\n}\n',
    "the closing bracket behind the last": b'{\n  "a": 1,\n  "b": 2 }\n',
    "the same unrelated key twice": b'{\n  "a": 1,\n  "a": 2\n}\n',
    "letters of the whole world": '{\n  "größe": "日本語 \\ud83d\\ude00 😀",\n  "\\u00e9": "é"\n}\n'.encode(),
    "a lone surrogate": b'{\n  "a": "\\ud800"\n}\n',
    "numbers that no machine can hold": b'{\n  "n": 123456789012345678901234567890.5e999,\n  "m": -0\n}\n',
    "deep but sound": b'{\n  "a": ' + b"[" * 60 + b"]" * 60 + b"\n}\n",
    "blank lines and wild indentation": b'\n\n{\n\n      "a":\n 1\n\n,   "b"  :2\n\n\n}\n\n\n',
    "a long list": b'{\n  "list": [\n' + b",\n".join(b'    "item %06d"' % n for n in range(200)) + b"\n  ]\n}\n",
}

REFUSED: dict[str, bytes] = {
    "a list": b'[\n  {"hooks": {}}\n]\n',
    "a text": b'"settings"\n',
    "a number": b"12",
    "half an object": b'{\n  "a": 1,\n',
    "a missing comma": b'{\n  "a": 1\n  "b": 2\n}\n',
    "two commas": b'{\n  "a": 1,,\n  "b": 2\n}\n',
    "single quotes": b"{'a': 1}",
    "names without quotes": b"{a: 1}",
    "something behind the end": b'{"a": 1} x',
    "a conflict of git": b'{\n<<<<<<< HEAD\n  "a": 1\n=======\n  "a": 2\n>>>>>>> other\n}\n',
    "a comment that never ends": b'{\n  "a": 1 /* what\n}\n',
    "a text that never ends": b'{\n  "a": "x\n}\n',
    "hooks that are a list": b'{\n  "hooks": []\n}\n',
    "hooks that are null": b'{\n  "hooks": null\n}\n',
    "hooks twice": b'{\n  "hooks": {},\n  "hooks": {}\n}\n',
    "an event that is an object": b'{"hooks": {"PreToolUse": {}, "BeforeTool": {}}}',
    "an event twice": b'{"hooks": {"PreToolUse": [], "PreToolUse": [], "BeforeTool": [], "BeforeTool": []}}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "Latin-1": '{"größe": 1}'.encode("latin-1"),
    "nothing but zeros": b"\0" * 100,
    "too deep": b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "YAML": b"model: opus\nhooks:\n  - x\n",
}

SERVERS: dict[str, bytes] = {
    "two servers": b"""{
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ann/Desktop"]
    },
    "github": {
      "command": "docker",
      "args": [
        "run",
        "-i",
        "--rm",
        "ghcr.io/github/github-mcp-server"
      ],
      "env": { "GITHUB_TOKEN": "not-a-real-one" }
    }
  }
}
""",
    "without args": b'{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "/opt/my server/run"\n\t\t}\n\t}\n}',
    "without args on one line": b'{"mcpServers": {"a": {"command": "run"}}}',
    "empty args": b'{"mcpServers":{"a":{"args":[],"command":"run","env":{}}},"x":1}',
    "empty args with a comment": b'{"mcpServers": {"a": {"command": "run", "args": [ /* none */ ]}}}',
    "one of them elsewhere": b'{"mcpServers": {"a": {"url": "https://x/mcp"}, "b": {"command": "b", "args": ["1"]}}}\n',
    "comments and commas": b'{\n  "mcpServers": { // mine\n    "a": {\n      "command": "x", // it\n      "args": [\n'
    b'        "1", // one\n        "2",\n      ],\n    },\n  },\n}\n',
    "Windows": b'\xef\xbb\xbf{\r\n  "mcpServers": {\r\n    "a": {\r\n      "command": "C:\\\\Program Files\\\\x.cmd",'
    b'\r\n      "args": ["-y", "\\u0061"]\r\n    }\r\n  }\r\n}',
    "a name in many letters": '{"mcpServers": {"größe \\"1\\" 😀": {"command": "x", "args": ["--", "y"]}}}'.encode(),
    "wrapped by hand already": b'{"mcpServers": {"a": {"command": "rightcall", "args": ["wrap", "--", "x", "1"]},'
    b' "b": {"command": "y", "args": ["--mode", "z"]}}}',
    "entries that are none": b'{"mcpServers": {"a": 1, "b": {}, "c": {"command": ["x"]}, '
    b' "d": {"command": "x", "args": "y"}, "e": {"command": "x", "args": [1]}, "f": {"command": "ok"}}}',
}

SERVERS_REFUSED: dict[str, bytes] = {
    "a list": b"[]",
    "servers in a list": b'{"mcpServers": []}',
    "servers twice": b'{"mcpServers": {}, "mcpServers": {"a": {"command": "x"}}}',
    "one name twice": b'{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}',
    "a command twice": b'{"mcpServers": {"a": {"command": "x", "command": "y"}}}',
    "broken": b'{"mcpServers": {"a": {"command": "x" "args": []}}}',
}

TOML: dict[str, bytes] = {
    "a model and a hook": b'# mine\nmodel = "o"  # best\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\n'
    b'command = "say done"\n\n[mcp_servers.files]\ncommand = "x"\n',
    "no line end at the end": b'[[hooks.PreToolUse]]\nmatcher = "Bash"\nhooks = [{type = "command", command = "x"}]',
    "line ends of Windows": b'[[hooks.Stop]]\r\nhooks = []\r\n\r\n[tui]\r\ntheme = "x"\r\n',
    "blank lines at the end": b"[[hooks.Stop]]\nhooks = []\n\n\n\n",
    "a byte order mark": b"\xef\xbb\xbf[[hooks.Stop]]\nhooks = []\n",
    "dotted keys and long texts": b'a.b = 1\nlong = """\n[[hooks.PreToolUse]]\n"""\n[[hooks.Stop]]\nhooks = []\n',
}

TOML_REFUSED: dict[str, bytes] = {
    "hooks in one line": b'hooks = {Stop = [{hooks = []}]}\nmodel = "x"\n',
    "an event in one line": b"[hooks]\nPreToolUse = [{hooks = []}]\n",
}


def as_host(data: bytes) -> Any:
    """Comments and trailing commas out, then plain JSON; what is blank is an empty object."""
    text = data.decode("utf-8-sig")
    out, at = "", 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out, at = out + text[at : end + 1], end + 1
        elif text.startswith("//", at):
            at = text.find("\n", at)
        elif text.startswith("/*", at):
            at = text.index("*/", at + 2) + 2
        else:
            if text[at] in "]}" and out.rstrip().endswith(","):
                out = out.rstrip()[:-1]
            out, at = out + text[at], at + 1
        if at < 0:
            break
    return json.loads(out, parse_float=str, parse_int=str) if out.strip() else {}


def without_ours(settings: Any) -> Any:
    """The same without our hooks and without what is empty then."""
    if not isinstance(settings.get("hooks"), dict):
        return settings
    hooks = {
        event: [group for group in groups if "/my bin/rightcall' hook " not in json.dumps(group)]
        for event, groups in settings["hooks"].items()
    }
    left = {event: groups for event, groups in hooks.items() if groups}
    return {key: value for key, value in settings.items() if key != "hooks"} | ({"hooks": left} if left else {})


def our_commands(settings: Any) -> dict[str, str]:
    """Our command, per event."""
    return {
        event: handler["command"]
        for event, groups in settings["hooks"].items()
        for group in groups
        for handler in group.get("hooks", ())
        if "/my bin/rightcall' hook " in handler["command"]
    }


def program(home: Path, body: str) -> None:
    """What `rightcall` does when a host starts it."""
    (home / "my bin" / "rightcall").write_text(f"#!/bin/sh\n{body}\n")


def real_program(home: Path) -> None:
    program(home, f'PYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m rightcall.cli "$@"')
