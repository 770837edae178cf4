"""Plain lines: a few programs that only look, with plain words, joined by `&&`, `;` and `|`. They are most of what an
agent runs, and are judged here without the reader of a shell and its rules being loaded.

Nothing is decided here that `judge.py` would decide otherwise: a test compares both. Every doubt is left to it: a
quote, a wildcard, a hidden or a telling name, a way upwards, an option that is not listed.
"""

from rightcall.base.files.rules import PLAIN, component
from rightcall.base.json.marks import Late
from rightcall.policy.commands.places import Place, SeenPath

_LONGEST = 400
_LINE = Late(r"[A-Za-z0-9_./ -]+(?:(?: && |; ?| \| )[A-Za-z0-9_./ -]+)*")
_JOINT = Late(r"( && | \| |; ?)")
_TELLING = (
    "key", "token", "secret", "pass", "cred", "kube", "appsettings", "history", ".p8", "adminsdk", "wallet", "login",
    "cookies", "shadow", "netrc", "deploy", "wp-config", "rightcall", "..", "/.", " .", "--help", "--version", "//",
)  # fmt: skip
"""What a rule may know more of, wherever it stands in a line."""
_ODD_FOLDERS = ("/etc", "/proc", "/run", "/var", "/dev", "/root", "/private", "/sys", "/usr", "/bin", "/opt", "/lib")
_FILES: dict[str, str] = {
    "ls": "1aAhlrRtS", "cat": "nbs", "head": "0123456789", "tail": "0123456789f", "wc": "lwcm", "file": "", "du": "sh",
    "stat": "", "diff": "uqNwb", "cd": "",
}  # fmt: skip
"""Programs whose operands may be files that they read, each with the letters that its options may have."""
_FILTERS = frozenset(("head", "tail", "wc", "cat"))
"""What they read through a pipe is only shown."""
_GIT = frozenset(("status", "diff", "log", "show", "add", "rev-parse", "ls-files", "blame"))
_GIT_OPTIONS = frozenset(
    ("-s", "-sb", "-A", "-u", "-v", "-p", "--short", "--oneline", "--stat", "--cached", "--staged", "--name-only",
     "--name-status", "--porcelain", "--all", "--graph", "--decorate", "--no-color", "--show-toplevel", "--branch",
     "--abbrev-ref", *(f"-{number}" for number in range(1, 100)))
)  # fmt: skip
_WHOLE = frozenset(
    ("npm test", "npm run build", "npm run lint", "npm run dev", "npm run test", "npm start", "yarn test", "yarn build",
     "pnpm test", "pnpm build", "make test", "make build", "make lint", "make check", "git branch", "git branch -a",
     "pwd", "date", "whoami", "true", "uname -a",
     "git remote -v", "git stash list", "git fetch", "git pull", "cargo build", "cargo test", "cargo check")
)  # fmt: skip


def plain_paths(line: str, place: Place) -> tuple[SeenPath, ...] | None:
    """The paths of a line that is plain, and about which there is nothing to ask; None where that is not sure."""
    if len(line) > _LONGEST or not _LINE.fullmatch(line) or any(one in line.casefold() for one in _TELLING):
        return None
    folder = place.folders[0]
    around = folder.casefold()
    if len(place.folders) > 1 or not around.startswith("/") or around.startswith(_ODD_FOLDERS):
        return None
    if any(one in around for one in (*_TELLING, "/library", "/snap")) or not place.is_inside(folder):
        return None
    seen: dict[str, SeenPath] = {}
    pieces = _JOINT.split(line)
    for at in range(0, len(pieces), 2):
        words = pieces[at].split()
        fed = at > 0 and pieces[at - 1] == " | "
        feeds = at + 1 < len(pieces) and pieces[at + 1] == " | "
        named = _named_by(words, fed)
        if named is None or (words[0] == "cd" and (fed or feeds or len(named) != 1)):
            return None
        for word in named:
            if any(component(name) is not PLAIN for name in word.split("/")):
                return None
            whole = place.whole(folder, word)
            seen.setdefault(whole, SeenPath(word, whole, False))
        if words[0] == "cd":
            folder = place.whole(folder, words[1])
    return tuple(seen.values())


def _named_by(words: list[str], fed: bool) -> list[str] | None:
    """The words of a plain command that may be paths; None for one that is not plain."""
    if not words or any(word.startswith("/") or word in ("-", "--") for word in words):
        return None
    program, arguments = words[0], words[1:]
    if fed and program not in _FILTERS:
        return None
    if program == "echo":  # its words name nothing
        return [] if _are_letters("", arguments) else None
    if program in _FILES:
        return [one for one in arguments if one[0] != "-"] if _are_letters(_FILES[program], arguments) else None
    if program == "git" and arguments and arguments[0] in _GIT:
        options = [one for one in arguments if one[0] == "-"]
        return [one for one in arguments if one[0] != "-"] if _GIT_OPTIONS.issuperset(options) else None
    return [one for one in arguments if one[0] != "-"] if " ".join(words) in _WHOLE else None


def _are_letters(letters: str, arguments: list[str]) -> bool:
    """Whether all options are made of these letters."""
    return all(len(one) > 1 and set(one[1:]).issubset(letters) for one in arguments if one[0] == "-")
