"""Other spellings of paths and names: each must be refused wherever what it spells is. Generated from rules, so that a
target added here is tried in every spelling, and a spelling on every target."""

import os
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from urllib.parse import quote

LOOK_ALIKES = {"a": "\u0430", "c": "\u0441", "e": "\u0435", "i": "\u0456", "o": "\u03bf", "p": "\u0440", "s": "\u0455"}
"""Latin, and the Cyrillic or Greek letter that looks like it."""
UNSEEN = ("\u200b", "\u00ad", "\u2060", "\ufeff", "\u202e", "\u200d")

SECRETS = (
    ".env", "config/.env.local", "id_rsa", "certs/site.pem", "secrets/plain.txt", "service-account.json",
    "node_modules/x/.env",
)  # fmt: skip
DENIED = ("private/a.txt", "data/one.sqlite", "left/x.md", "closed/y.md")
DENY = ["private/**", "**/*.sqlite", "{left,right}/**", "[c]losed/**"]
GUARDED = (
    "rightcall.toml", "sub/rightcall.toml", ".rightcall/audit.db", "state/audit.db", "state/audit.db-wal",
    "state/audit.db.key", "state/desk/journal", "state/packets/p.json",
)  # fmt: skip
TARGETS = (*SECRETS, *DENIED, *GUARDED)
IN_EXECUTORS = tuple(target for target in TARGETS if not target.endswith("rightcall.toml"))
"""Where the policy is no file, one that lies around is a file like any other."""

HARMLESS = (
    "..config.py", "...dots.txt", "..folder/x.md", "C:/notes.txt", "a b.txt", " leading.txt", "[id].tsx", "{a,b}.txt",
    "app/(group)/[slug]/page.tsx", "$HOME.txt", "100%.txt", "50%25 off.md", "\u00fcn\u00efcode.md",
    "\u65e5\u672c\u8a9e.txt", "\u044d\u043c\u043e\u0434\u0437\u0438-\U0001f600.txt", "r\u00e9sum\u00e9.pdf",
    "re\u0301sume\u0301.pdf", "x..y", "-rf", "~notes.md", "it's.txt", "back\\slash.txt", "a:b.txt",
    "@types/index.d.ts", "secretary.py", "password_reset.py", "environment.yml", "env.example", "monkey.js", "#hash",
    "a&b|c.txt", "\u2026notes.txt", "\u043f\u0430\u0440\u043e\u043b\u044c.txt",
    "\u03ba\u03bb\u03b5\u03b9\u03b4\u03af.md",
    "docs/secrets.md", "with.dots/and..more/x.md", "n" * 250, "deep/" * 60 + "leaf.txt", "privateer/a.txt",
    "leftover/x.md", "c#/notes.md", "what?/next.md", "desk.py", "audit.database.md", "state.md", "Jenkins.md",
)  # fmt: skip
"""Legal names that are nobody's secret, among them those that only begin like one."""


def look_alike(text: str) -> str:
    return "".join(LOOK_ALIKES.get(one, one) for one in text)


def full_width(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def with_unseen(text: str) -> str:
    return "".join(one + mark for one, mark in zip(text, cycle(UNSEEN), strict=False))


def encoded(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def with_ends(path: str, end: str) -> str:
    return "/".join(part + end for part in path.split("/"))


PATHS: dict[str, Callable[[str, str], str]] = {
    "plain": lambda path, root: path,
    "whole": lambda path, root: f"{root}/{path}",
    "dots": lambda path, root: "./" * 40 + path,
    "many dots": lambda path, root: "./" * 2100 + path,
    "many dots, whole": lambda path, root: f"{root}/" + "./" * 2100 + path,
    "up and down": lambda path, root: "x/../" * 30 + path,
    "far up and down": lambda path, root: "x/../" * 900 + path,
    "through nothing": lambda path, root: f"nope/../{path}",
    "through a file": lambda path, root: f"README.md/../{path}",
    "through a link": lambda path, root: f"link/../{path}",
    "by a link": lambda path, root: f"here/{path}",
    "slashes": lambda path, root: path.replace("/", "///"),
    "slashes before": lambda path, root: "/" * 3000 + f"{root}/{path}",
    "too many slashes": lambda path, root: f"{root}{'/' * 5000}{path}",
    "slash behind": lambda path, root: f"{path}/",
    "dot behind": lambda path, root: f"{path}/.",
    "from above": lambda path, root: f"../{os.path.basename(root)}/{path}",
    "nul behind": lambda path, root: f"{path}\0",
    "nul and more": lambda path, root: f"{path}\0.txt",
    "nul before": lambda path, root: f"\0{path}",
    "backslashes": lambda path, root: "x\\..\\" + path.replace("/", "\\"),
    "dot backslash": lambda path, root: ".\\" + path.replace("/", "\\"),
    "mixed separators": lambda path, root: "x\\../" + path,
    "device": lambda path, root: "\\\\?\\" + path.replace("/", "\\"),
    "encoded": lambda path, root: encoded(path),
    "encoded dots": lambda path, root: path.replace(".", "%2e").replace("/", "%2F"),
    "encoded twice": lambda path, root: path.replace(".", "%252e").replace("/", "%252f"),
    "address": lambda path, root: f"file://{root}/{path}",
    "address, encoded": lambda path, root: f"FILE://localhost{quote(root)}/{encoded(path)}",
    "address with a query": lambda path, root: f"file:{root}/{path}?x=1#L3",
    "address, a folder for a host": lambda path, root: f"file://{path}",
    "address, a share for a host": lambda path, root: f"file://\\\\localhost\\C${root}/{path}",
    "address in two lines": lambda path, root: f"fi\nle://{root}/{path[:3]}\r\n\t{path[3:]}",
    "joined to the root": lambda path, root: f"/{path}",
    "joined to the root by a link": lambda path, root: f"/here/{path}",
    "cut within": lambda path, root: f"./{path}#L10/",
    "home": lambda path, root: f"~/{path}",
    "variable": lambda path, root: f"$HOME/{path}",
    "braced variable": lambda path, root: f"${{HOME}}/./{path}",
    "blanks around": lambda path, root: f" \t{path}\n",
    "no-break blank": lambda path, root: f"{path}\u00a0",
    "quoted": lambda path, root: f'"{path}"',
    "in ticks": lambda path, root: f"`{path}`",
    "in angles": lambda path, root: f"<{path}>",
    "mentioned": lambda path, root: f"@{path}",
    "capitals": lambda path, root: path.upper(),
    "swapped": lambda path, root: path.swapcase(),
    "look-alikes": lambda path, root: look_alike(path),
    "full width": lambda path, root: full_width(path),
    "full width, no slash": lambda path, root: full_width(path).replace("\uff0f", "/"),
    "other slashes": lambda path, root: "x/../" + path.replace("/", "\u2215").replace(".", "\u2024"),
    "unseen": lambda path, root: with_unseen(path),
    "steering a terminal": lambda path, root: "\x1b".join(path),
    "deleted": lambda path, root: f"{path[:1]}\x7f{path[1:]}\x08",
    "ideographic stops": lambda path, root: path.replace(".", "\u3002"),
    "unseen behind": lambda path, root: path + "\u200b" * 20,
    "mark before": lambda path, root: f"\ufeff{path}",
    "dot at the ends": lambda path, root: with_ends(path, "."),
    "blank at the ends": lambda path, root: with_ends(path, " "),
    "whole, capitals": lambda path, root: f"{root}/{path}".upper(),
    "line behind a slash": lambda path, root: f"{path}/:10",
    "blanks within": lambda path, root: f"./ \t{path}\n/",
    "dots and blanks": lambda path, root: with_ends(path, ". . "),
    "stream": lambda path, root: f"{path}::$DATA",
    "named stream": lambda path, root: f"{path}:x",
    "line": lambda path, root: f"{path}:10",
    "everything": lambda path, root: f' "./x\\..\\{encoded(with_unseen(path))}::$DATA" ',
}


ON_DRIVES: dict[str, Callable[[str, str], str]] = {
    "drive": lambda path, root: f"C:{root}/{path}",
    "drive, from here": lambda path, root: f"d:{path}",
    "drive, encoded": lambda path, root: f"C%3a{root}/{encoded(path)}",
    "drive, full width": lambda path, root: f"C\uff1a{root}/{path}",
    "drive, dots behind": lambda path, root: f"C:{root}/{with_ends(path, '. ')}",
    "drive in an address": lambda path, root: f"file:///C:{root}/{path}",
    "slash before a drive": lambda path, root: f"/C:{root}/./{path}",
    "drive and backslashes": lambda path, root: "C:" + f"{root}/{path}".replace("/", "\\"),
}
"""For somebody who runs on a system with drives; elsewhere these are names of folders like any other."""


def spelled_paths(root: str, targets: tuple[str, ...] = TARGETS) -> Iterator[tuple[str, str]]:
    """What it is, and the path."""
    for target in targets:
        for name, spell in PATHS.items():
            yield f"{target}: {name}", spell(target, root)


NAMES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "camel": lambda name: "".join(w if not n else w.title() for n, w in enumerate(name.split("_"))),
    "pascal": lambda name: name.title().replace("_", ""),
    "capitals": str.upper,
    "one word": lambda name: name.replace("_", ""),
    "one word, capitals": lambda name: name.replace("_", "").upper(),
    "dashes": lambda name: name.replace("_", "-"),
    "dots": lambda name: name.replace("_", "."),
    "slashes": lambda name: name.replace("_", "/"),
    "colons": lambda name: name.replace("_", "::"),
    "blanks": lambda name: name.replace("_", " "),
    "doubled": lambda name: name.replace("_", "__"),
    "around": lambda name: f" _{name}_ ",
    "line": lambda name: f"{name}\n",
    "look-alikes": look_alike,
    "one look-alike": lambda name: name.replace("e", "\u0435", 1),
    "full width": full_width,
    "bold": lambda name: "".join(chr(0x1D41A + ord(one) - 97) if one.isalpha() else one for one in name),
    "unseen": with_unseen,
    "unseen behind": lambda name: name + "\u200b",
    "padded": lambda name: name + "\u200b" * 3000,
    "accent": lambda name: name.replace("e", "\u00e9", 1),
    "other dash": lambda name: name.replace("_", "\u2010"),
    "joined camel": lambda name: look_alike(NAMES["camel"](name)),
}


def make_deep(root: Path, links: dict[str, str]) -> str:
    """Folders below a root, so deep that a path from the root can be opened and one from the top of the file system is
    too long; and links at their end to what lies in the root. Returns the folder's path from the root."""
    parts = ["d" * 200] * ((4060 - len("folder/new.py")) // 201)
    parts.append("e" * (4060 - len("folder/new.py") - 201 * len(parts)))
    at = os.open(root, os.O_RDONLY)
    for part in parts:
        os.mkdir(part, dir_fd=at)
        below = os.open(part, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    for name, to in links.items():
        os.symlink("../" * len(parts) + to, name, dir_fd=at)
    os.close(at)
    return "/".join(parts)
