"""What one command of a line hands to another: through a pipe, a here-document, a substitution or a variable."""

import re

from rightcall.policy.commands.paths import found_words
from rightcall.policy.commands.runs import SECRET_NAME, Run, option_value
from rightcall.policy.commands.shell import Simple, printed
from rightcall.policy.commands.words import HOLE, Word, basename

_PASSED_OVER = frozenset(("sudo", "env", "command", "nohup", "time", "timeout", "nice", "exec"))


def list_of(run: Run) -> Word | None:
    """The file that `xargs` takes its words from: `xargs -a list`."""
    if run.program not in ("xargs", "gxargs", "parallel"):
        return None
    return option_value(run.arguments, "-a", "--arg-file")


def told_by(command: Simple, commands: list[Simple], variables: dict[str, tuple[str, ...] | None]) -> list[Word]:
    """The words that a command reads, where the line tells them."""
    told: list[Word] = []
    for redirect in command.redirects:
        told += as_words(redirect.text or "")
        sources = () if redirect.writes else redirect.target.inner
        told += [word for at in sources if commands[at].words for word in handed_on(commands[at], variables)]
    for at in command.fed:
        told += handed_on(commands[at], variables) if commands[at].words else []
    return told


_PICKED = (
    ".env",
    "secret",
    "id_rsa",
    "id_ed25519",
    "password",
    "credentials",
    ".pem",
    ".netrc",
    ".npmrc",
    "kubeconfig",
)


def lists_settings(command: Simple) -> bool:
    values = [word.value for word in command.words]
    return "config" in values[1:4] and values[0] == "git" and not {"-l", "--list", "list"}.isdisjoint(values)


def picks_secrets(source: Simple) -> str:
    """The name of a secret that `grep` lets through from a list of names, or ""."""
    if not source.words or basename(source.words[0].value) not in ("grep", "egrep", "rg"):
        return ""
    values = [word.value for word in source.words[1:]]
    texts = [one for one in values if not one.startswith("-")]
    if len(texts) != 1 or any(re.fullmatch(r"-[a-zA-Z]*v[a-zA-Z]*|--invert-match", one) for one in values):
        return ""
    choices = [re.sub(r"[\\^$*()?\[\]]", "", one) for one in texts[0].split("|")]
    return next((name for name in _PICKED for one in choices if len(one) > 2 and one in name), "")


def replaced_by(run: Run) -> str:
    """The text that `xargs -I` replaces."""
    for at, value in enumerate(run.values):
        if value.startswith("-I"):
            return value[2:] or (run.values[at + 1] if at + 1 < len(run.values) else "{}")
    return "{}"


def program_of(command: Simple) -> str:
    """The program of a command, behind the commonest wrappers."""
    for word in command.words:
        name = basename(word.value)
        if name not in _PASSED_OVER and not name.startswith("-") and "=" not in name and not name.isdigit():
            return name
    return ""


def printers(word: Word, commands: list[Simple]) -> tuple[str, ...]:
    """The programs whose output stands in a word; `$(<file)` prints like `cat`."""
    found = (commands[at] for at in word.inner)
    return tuple(program_of(one) if one.words else "cat" for one in found if one.words or one.redirects)


def exported(command: Simple) -> list[tuple[str, Word]]:
    """`export NAME=value`."""
    if not command.words or command.words[0].value not in ("export", "declare", "typeset", "readonly", "setenv"):
        return []
    pairs = [(word, word.value.partition("=")) for word in command.words[1:] if "=" in word.value]
    return [(name, Word(value, None, True, word.names, word.inner)) for word, (name, _, value) in pairs]


def input_of(command: Simple, commands: list[Simple]) -> str | None:
    """The text that a command reads, where it stands in the line itself."""
    for redirect in command.redirects:
        if redirect.text is not None:
            return redirect.text
        if redirect.target.inner and not redirect.writes:  # `< <(echo …)`
            source = commands[redirect.target.inner[0]]
            return printed(source, {}) if len(redirect.target.inner) == 1 and source.words else None
    for at in reversed(command.fed):  # the nearest first
        source = commands[at]
        if not source.words or source.words[0].value not in ("cat", "tee"):
            return printed_by_stage(source, at, command.fed, commands) if source.words else None
        if source.redirects:
            return source.redirects[0].text
        if source.words[0].value == "cat" and len(source.words) > 1:
            return None
    return None


def printed_by_stage(last: Simple, at: int, fed: tuple[int, ...], commands: list[Simple]) -> str | None:
    """What one stage of a pipe prints, which may be a group of several commands."""
    inner = {number for one in fed for word in commands[one].words for number in word.inner}
    stage = [one for one in fed if one <= at and one not in inner and commands[one].fed == last.fed]
    texts = [printed(commands[one], {}) if commands[one].words else None for one in stage]
    known = [text for text in texts if text is not None]
    return "\n".join(known) if len(known) == len(texts) else None


def is_narrowed(command: Simple, commands: list[Simple]) -> bool:
    """Whether `grep` leaves only lines of its output that name no secret: `env | grep PATH`."""
    if not command.words or command.words[0].value not in ("env", "printenv"):
        return False
    at = next((n for n, one in enumerate(commands) if one is command), -1)
    after = next((one for one in commands[at + 1 :] if at in one.fed), None) if at >= 0 else None
    if after is None or not after.words or basename(after.words[0].value) not in ("grep", "egrep", "rg"):
        return False
    texts = [one.value for one in after.words[1:] if not one.value.startswith("-")]
    options = [one.value for one in after.words[1:] if one.value.startswith("-")]
    return (
        len(texts) == 1 and re.fullmatch(r"\^?[A-Z][A-Z0-9_]{2,}=?", texts[0], re.IGNORECASE) is not None
        and not SECRET_NAME.search(texts[0].strip("^="))
        and texts[0].upper().strip("^=") in _SHOWN and not any("v" in one for one in options)
    )  # fmt: skip


_SHOWN = frozenset(
    ("PATH", "HOME", "USER", "SHELL", "LANG", "LC", "PWD", "NODE", "PYTHON", "PYTHONPATH", "NODE_ENV", "JAVA_HOME",
     "GOPATH", "GOROOT", "CUDA", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA", "TERM", "EDITOR", "PROXY", "TMPDIR",
     "DISPLAY", "NVM", "RUBY", "RUST", "CARGO_HOME", "XDG", "DEBUG", "PORT", "HOSTNAME")
)  # fmt: skip
"""Names of variables, or parts of them, that say nothing secret."""


def reads_names(run: Run) -> bool:
    """Whether it takes names of files from its input."""
    if run.program in ("cpio", "pax", "afio"):
        return True
    return any(
        one in ("-@", "-T-", "--files-from=-", "--files0-from=-", "--input-file=-")
        or (
            one == "-"
            and run.values[at - 1] in ("-T", "--files-from", "--files0-from", "-i", "--input-file")
            and at > 0
        )
        for at, one in enumerate(run.values)
    )


def as_words(text: str) -> list[Word]:
    """The words that `xargs` makes of a text."""
    words = re.sub(r"['\"\\]", "", text).split()
    return [*(Word(one) for one in words[:200]), *([Word(HOLE)] if len(words) > 200 else [])]


def written_text(run: Run, command: Simple) -> str | None:
    """What a command writes to its output, where the line itself tells it."""
    if run.program in ("cat", "tee") and all(one.value in ("-", "/dev/stdin", "-n") for one in run.arguments
                                             if run.program == "cat"):  # fmt: skip
        return run.text
    return printed(command, {}) if command.words and run.program in ("echo", "printf") else None


def handed_on(source: Simple, variables: dict[str, tuple[str, ...] | None]) -> list[Word]:
    """The words that a command would hand on to `xargs`."""
    program = basename(source.words[0].value)
    if program in ("find", "gfind"):
        words = source.words
        return found_words(Run(program, words[0], words[1:], source.folders, values=[one.value for one in words[1:]]))
    if program in ("ls", "gls"):  # the names that it is given, or those in a folder
        return [*(word for word in source.words[1:] if not word.value.startswith("-")), Word(HOLE)]
    text = printed(source, variables)
    return [Word(one) for one in text.split()] if text is not None else []
