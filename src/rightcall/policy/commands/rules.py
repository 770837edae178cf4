"""Starter rules that need more than a pattern: what `rm` removes, where `git push` pushes to, what SQL is run.

Each looks at one command with the folder it runs in, and says what it finds. `starter.txt` has what a line can say.
"""

import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from rightcall.base.text import regex
from rightcall.policy.commands.actions import (
    CLIENTS,
    DEPLOYS,
    MESSAGING,
    TASKS,
    console_rules,
    curl_rules,
    gh_rules,
    grpc_rules,
    httpie_rules,
    message_rules,
    redis_rules,
    restore_rules,
    started_by_options,
    unlisted_rules,
    verb_rules,
    wget_rules,
)
from rightcall.policy.commands.git import git_rules
from rightcall.policy.commands.inline import codes, interpreter
from rightcall.policy.commands.launchers import RUNNING
from rightcall.policy.commands.listings import link_rules
from rightcall.policy.commands.network import bucket_rules, copy_rules, lookup_rules, netcat_rules, ssh_rules
from rightcall.policy.commands.outputs import unpacks, writes_to
from rightcall.policy.commands.packages import (
    CONTAINERS,
    PACKAGING,
    compose_rules,
    container_rules,
    kubectl_rules,
    package_rules,
)
from rightcall.policy.commands.paths import expanded, search_starts, searched_for, seeks_protected
from rightcall.policy.commands.patterns import programs
from rightcall.policy.commands.places import Place, is_device, is_disk, names_in
from rightcall.policy.commands.runs import (
    SECRET_NAME,
    SHELLS,
    RuleHit,
    Run,
    options_of,
    seeks_secrets,
    why_dangerous,
)
from rightcall.policy.commands.shell import Simple
from rightcall.policy.commands.words import HOLE, Word, basename, joined, known_names, unversioned
from rightcall.policy.commands.wrappers import shell_code


def found_in(run: Run, place: Place) -> Iterator[RuleHit]:
    """Everything that the rules of this module find in a command."""
    rule = _RULES.get(run.program) or _RULES.get(unversioned(run.program))
    if rule is not None:
        yield from rule(run, place)
    if run.program in CLIENTS:
        yield from console_rules(run)
    if run.program.startswith("mkfs") or run.program in ("newfs", "mke2fs", "mkntfs"):
        yield RuleHit("destroys", run.program, deny=any(is_disk(one) for one in run.values))
    if _runs_scripts(run) and (script := _script_of(run)) and DEPLOYS.search(script) and not _only_shows(run):
        yield RuleHit("publishes", script)
    yield from verb_rules(run, is_listed)
    if run.values and not is_listed(run.program):
        yield from unlisted_rules(run)
    yield from started_by_options(run)
    if run.program in PACKAGING:
        yield from package_rules(run, place)
    if any("/dev/tcp/" in value or "/dev/udp/" in value for value in run.values):
        yield RuleHit("escalates", "/dev/tcp")


# ── what is removed ─────────────────────────────────────────────────────────────────────────────────────────────────


def _may_go(run: Run, word: Word, place: Place) -> bool:
    """Whether something may be removed without a question: it is made again by a build, or temporary."""
    if run.elsewhere or _takes_guard(run, word, place):
        return False
    beside = place.root_is_temporary and not word.value.startswith("/")  # `../other` is another project then
    return all(
        place.is_made_again(path) or (place.is_temporary(path) and not beside) for path in run.wholes(word, place)
    )


def _takes_guard(run: Run, word: Word, place: Place) -> bool:
    """Whether what is done to a file or a whole folder is done to something that guards these calls."""
    if run.elsewhere:
        return False
    return any(
        place.holds_guard(place.whole(folder, text))
        for text in expanded(word, run.folders, place).texts
        for folder in run.folders
    )


def _away(run: Run, place: Place) -> Iterator[RuleHit]:
    """Programs that move, rename or close what they are given; what is made again may go, and our own program not."""
    for word in run.operands():
        if _takes_guard(run, word, place):
            yield RuleHit("guards", f"{run.program} {word.value}".replace(HOLE, "…"))
            return


def _environments(run: Run, place: Place) -> Iterator[RuleHit]:
    """`python -m venv --clear .venv`, `uv venv`, `pipenv --rm`: an environment is emptied, and what runs from it."""
    values = run.values
    clears = run.has("--clear") or (run.program == "uv" and "-c" in values)
    if run.program in ("venv", "virtualenv"):
        given = run.operands("--prompt -p --python") if clears else []
    elif run.program == "uv" and values[:1] == ["venv"]:
        given = run.operands("-p --python --prompt --seed")[1:] or [Word(".venv")]
    elif values[:2] in (["env", "remove"], ["venv", "remove"], ["env", "prune"]) or values[:1] == ["--rm"]:
        given = [Word(".venv")]
    else:
        return
    if any(_takes_guard(run, word, place) for word in given):
        yield RuleHit("guards", f"{run.program} {' '.join(values[:2])}")
    for word in given if clears else ():
        if not _may_go(run, word, place) and any(map(_is_no_environment, run.wholes(word, place))):
            yield RuleHit("destroys", f"{run.program} --clear {word.value}", ("--clear",))


def _is_no_environment(path: str) -> bool:
    """A folder with something in it that no environment was made in."""
    return bool(names_in(path)) and not os.path.exists(f"{path}/pyvenv.cfg")


def _rm(run: Run, place: Place) -> Iterator[RuleHit]:
    targets = run.operands("-ErrorAction -erroraction -ea" if run.program == "remove-item" else "")
    if run.has("--no-preserve-root"):
        yield RuleHit("destroys", "rm --no-preserve-root", deny=True)
    recursive = run.has("-r", "-R", "--recursive", "-d") or run.program != "rm"
    for word in targets:
        everything = any(place.is_everything(path) for path in run.wholes(word, place))
        if everything and (recursive or word.glob is not None) and not run.elsewhere:
            yield RuleHit("destroys", f"{run.program} {word.value}", deny=True)
        elif not _may_go(run, word, place):
            yield RuleHit("destroys", f"{run.program} {word.value}".replace(HOLE, "…"), _options(run, "-r", "-R", "-f"))
            return
    if not targets and not run.has("--help", "--version"):
        yield RuleHit("destroys", run.program)


def _options(run: Run, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if run.has(name))


def _find(run: Run, place: Place) -> Iterator[RuleHit]:
    if "-delete" in run.values:
        ways = searched_for(run.values)
        starts = run.arguments[search_starts(run.values)] or [Word(".")]
        if not any(ways) and any(place.is_everything(path) for word in starts for path in run.wholes(word, place)):
            yield RuleHit("destroys", "find -delete", deny=True)
        elif not all(_may_go(run, word, place) for word in starts) and not (
            all(any(place.is_made_again(f"{place.root}/{name}") for _, name in way) for way in ways)
            and all(place.is_inside(path) for word in starts for path in run.wholes(word, place))
        ):  # fmt: skip
            yield RuleHit("destroys", "find -delete", ("-delete",))
    for option in ("-fprint", "-fprint0", "-fprintf", "-fls"):
        if option in run.values:
            yield RuleHit("destroys", f"find {option}", (option,))
    if any(place.is_home_of_many(path) for word in run.arguments[:3] for path in run.wholes(word, place)):
        if any(seeks_protected(name) for way in searched_for(run.values) for _, name in way):
            yield RuleHit("credentials", "find " + " ".join(run.values[:3]))
        elif any(basename(one) not in _LOOKS_AT_FOUND for one in _started_by_find(run.values)):
            yield RuleHit("destroys", "find " + " ".join(run.values[:3]))


_LOOKS_AT_FOUND = frozenset(
    ("grep", "egrep", "rg", "ls", "wc", "stat", "file", "du", "md5sum", "sha256sum", "echo", "test", "basename",
     "dirname", "readlink", "realpath", "printf", "head")
)  # fmt: skip


def _started_by_find(values: list[str]) -> list[str]:
    starts = ("-exec", "-execdir", "-ok", "-okdir")
    return [after for before, after in pairwise(values) if before in starts]


_HUGE = 20 << 30


def _is_huge(size: str) -> bool:
    """Whether a file of such a size may fill the disk: `500G`."""
    found = re.fullmatch(r"[+<>/%]?(\d{1,18})\s*([KMGTPE]?)i?B?", size, re.IGNORECASE)
    return found is not None and int(found[1]) << (10 * "KMGTPE".find(found[2].upper()) + 10 if found[2] else 0) > _HUGE


def _allots(run: Run, _place: Place) -> Iterator[RuleHit]:
    """`head -c 500G /dev/zero`, `fallocate -l 1T`."""
    size = run.option("-l", "--length") if run.program == "fallocate" else run.option("-c", "--bytes")
    if size is not None and _is_huge(size.value):
        yield RuleHit("destroys", f"{run.program} {size.value}")


_ENDLESS = frozenset(("yes", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"))


def never_ends(command: Simple) -> bool:
    """Whether what a command prints has no end, so that a file it is written to fills the disk."""
    words = command.words
    if not words or not any(
        word.value in _ENDLESS for word in (*words, *(one.target for one in command.redirects if not one.writes))
    ):
        return False
    return basename(words[0].value) not in ("head", "dd", "timeout", "od", "xxd")


def _truncate(run: Run, place: Place) -> Iterator[RuleHit]:
    for word in run.operands("-s --size -r --reference"):
        if not _may_go(run, word, place):
            yield RuleHit("destroys", f"truncate {word.value}")
            return


def _dd(run: Run, place: Place) -> Iterator[RuleHit]:
    for word in run.arguments:
        if word.value.startswith("of="):
            target = Word(word.value[3:])
            if is_disk(target.value):
                yield RuleHit("destroys", f"dd {word.value}", deny=True)
            elif not is_device(target.value) and not _may_go(run, target, place):
                yield RuleHit("destroys", f"dd {word.value}")


def _mv(run: Run, place: Place) -> Iterator[RuleHit]:
    operands = run.operands("-t -S --target-directory --suffix")
    if operands and operands[-1].value == "/dev/null":
        yield RuleHit("destroys", "mv … /dev/null")
    into = run.option("-t", "--target-directory")
    ends = [into] if into is not None else operands[-1:]
    fades = any(
        not place.is_inside(one) and place.may_be_filled(one) for word in ends for one in run.wholes(word, place)
    )
    for word in operands if into is not None else operands[:-1]:
        for path in run.wholes(word, place):
            kept = (place.is_inside(path) and not place.is_above(path)) or place.is_temporary(path)
            obeyed = place.is_started_from(path) or place.is_guard(path)
            lost = fades and place.is_inside(path) and not place.is_made_again(path)  # what lies there is not kept
            if not kept or obeyed or lost or place.is_everything(path):
                yield RuleHit("destroys", f"mv {word.value}".replace(HOLE, "…"))
                return
    yield from _away(run, place)


def _ln(run: Run, place: Place) -> Iterator[RuleHit]:
    """A link in the place of something, or a second name for it."""
    yield from _away(run, place)
    yield from _cp(run, place)
    yield from link_rules(run, place)


def _cp(run: Run, place: Place) -> Iterator[RuleHit]:
    if run.has("-r", "-R", "-a", "--recursive", "--archive"):
        yield from _takes_in(run, place)
        yield from _pours(run, place)
    operands = run.operands("-t -S --target-directory --suffix -m -o -g --mode --owner --group")
    if operands and is_disk(operands[-1].value):
        yield RuleHit("destroys", f"{run.program} {operands[-1].value}", deny=True)
    elif operands and operands[0].value == "/dev/null":
        yield RuleHit("destroys", f"{run.program} /dev/null")


def _rsync(run: Run, place: Place) -> Iterator[RuleHit]:
    yield from copy_rules(run, place)
    if run.program == "rsync" and not run.has("-n", "--dry-run"):
        yield from _pours(run, place)


def _pours(run: Run, place: Place) -> Iterator[RuleHit]:
    """All that a folder from outside holds is put over the project: `cp -r /tmp/x/. .`. What is in one that is not
    there yet, nobody knows."""
    contents = "/" if run.program == "rsync" else "" if run.has("-T", "--no-target-directory") else "/."
    if run.elsewhere or not any(value.endswith(contents) for value in run.values):
        return
    *sources, into = run.operands("-t -S -e -f --rsh --exclude --include --filter --suffix") or [Word("")]
    targets = [path for path in run.wholes(into, place) if place.is_above(path)]
    for word in sources if targets else ():
        outside = [one for one in run.wholes(word, place) if not place.is_inside(one) and HOLE not in one]
        if not word.value.endswith(contents) or ":" in word.value or not outside:
            continue
        names = [name for one in outside for name in names_in(one)]
        guards = [name for name in names if any(place.holds_guard(f"{one}/{name}") for one in targets)]
        if guards or ".git" in names:
            yield RuleHit("guards", f"{run.program} {word.value} {into.value}")
        elif not names:
            yield RuleHit("destroys", f"{run.program} {word.value} {into.value}")


def _kill(run: Run, _place: Place) -> Iterator[RuleHit]:
    if run.program == "kill":
        operands = run.values[1:] if run.values[:1] and run.values[0].startswith("-") else run.values
        if any(one in ("-1", "1", "0") for one in operands if one != "--") and "-l" not in run.values:
            yield RuleHit("destroys", "kill " + " ".join(run.values[:3]))
        elif not _AT_ONCE.isdisjoint(run.values) and {"pgrep", "pidof"}.issuperset(run.printed or ("",)):
            yield RuleHit("destroys", "kill -9 $(pgrep …)")
    elif (
        run.program == "killall5"
        or run.has("-u", "-U", "--euid", "--uid", "-g", "--user")
        or any(
            one.value in (".", ".*", "", "*") or interpreter(one.value) is not None or one.value in _OF_MANY
            for one in run.operands("--signal -s -t -g -o --older-than --younger-than -y")
        )
    ):
        yield RuleHit("destroys", run.program)
    elif not _AT_ONCE.isdisjoint(run.values):  # all of a name, without a warning
        yield RuleHit("destroys", f"{run.program} -9")


_OF_MANY = frozenset(
    (*SHELLS, "java", "dotnet", "go", "docker", "dockerd", "containerd", "ssh", "sshd", "tmux", "screen", "systemd",
     "postgres", "mysqld", "mongod", "chrome", "chromium", "firefox", "code", "electron")
)  # fmt: skip
"""Names that processes of many purposes have: what ends one of them ends all."""
_AT_ONCE = frozenset(("-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL"))
KILLS = frozenset(("kill", "killall", "pkill", "skill", "killall5"))
_OUR_PROCESS = regex(r"rightcall|\bclaude\b|\bcodex\b", re.IGNORECASE)
_NO_LETTERS = regex(r"[\[\](){}^$*?+|\\]")
_FINDS_PROCESSES = frozenset(("pgrep", "pidof", "grep", "egrep", "rg", "awk", "gawk", "lsof", "fuser"))


def ends_us(run: Run, sought: bool) -> bool:
    """Whether a command ends RightCall's own processes; `sought`: its line looks for them."""
    if run.program in ("pkill", "killall", "skill", "stop-process", "taskkill"):
        return any(map(_is_our_name, run.values))
    return run.program == "kill" and (sought or any("PPID" in word.names for word in run.arguments))


def seeks_us(words: list[Word]) -> bool:
    """Whether a command looks for RightCall's own processes."""
    return basename(words[0].value) in _FINDS_PROCESSES and any(_is_our_name(word.value) for word in words[1:])


def _is_our_name(pattern: str) -> bool:
    """`rightcall`, also as a pattern: `right[c]all`."""
    return len(pattern) < 1000 and _OUR_PROCESS.search(_NO_LETTERS.sub("", pattern)) is not None


# ── rights ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _chmod(run: Run, place: Place) -> Iterator[RuleHit]:
    operands = [word for word in run.arguments if not re.match(r"-[A-Za-z-]{1,}$", word.value) or
                re.fullmatch(r"-[rwxst]+", word.value)]  # fmt: skip
    mode, targets = (operands[0].value if operands else ""), operands[1:]
    if run.program != "chmod":
        mode = ""
    if (
        (re.fullmatch(r"0?[2-7][0-7]{3}", mode) and not mode.startswith("0"))
        or re.search(r"[+=][rwxXt]*s", mode)
        or re.fullmatch(r"[0-7]{0,3}[2367]", mode)
        or re.search(r"(?:^|,)[ug]*[oa][ugoa]*[+=][rx]*w", mode)
    ):
        yield RuleHit("escalates", f"chmod {mode}")
    elif run.has("-R", "--recursive") and re.fullmatch(r"0?[0-3][0-7]{2}|[ua]+-[wxX]*r[wxX]*|0+", mode):
        yield RuleHit("destroys", f"chmod -R {mode}")
    if run.program != "chmod" and operands and re.match(r"(?:root|0)(?:[:.]|$)", operands[0].value):
        yield RuleHit("escalates", f"{run.program} {operands[0].value}")
    recursive = run.has("-R", "--recursive")
    taken = run.program == "chown" and recursive and operands and _is_another(operands[0].value, place)
    if taken and any(place.is_above(path) for word in targets for path in run.wholes(word, place)):
        yield RuleHit("destroys", f"{run.program} -R {operands[0].value}")
    if any(word.inner and basename(word.value) == "rightcall" for word in targets):
        yield RuleHit("guards", f"{run.program} … rightcall")
    for word in targets:
        if _takes_guard(run, word, place):
            yield RuleHit("guards", f"{run.program} {word.value}".replace(HOLE, "…"))
        if any("/.git/hooks/" in path or "/.husky/" in path for path in run.wholes(word, place)):
            yield RuleHit("persists", f"{run.program} {word.value}")
        if any(not place.is_inside(path) and not place.is_temporary(path) for path in run.wholes(word, place)):
            yield RuleHit("destroys" if run.has("-R", "--recursive") else "persists", f"{run.program} {word.value}")
            return


def _is_another(owner: str, place: Place) -> bool:
    """Whether a user or a group is surely not one's own; a number may be."""
    names = [one for one in re.split("[:.]", owner) if one]
    return bool(names) and all(re.fullmatch(r"[a-z_][\w-]*", one) and one != basename(place.home) for one in names)


def _crontab(run: Run, _place: Place) -> Iterator[RuleHit]:
    if not run.has("-l", "--help", "-r"):  # without a word it takes what it reads
        yield RuleHit("persists", "crontab")


# ── credentials ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _environment(run: Run, _place: Place) -> Iterator[RuleHit]:
    """A dump of all variables, or one that is named like a secret."""
    program, values = run.program, run.values
    for one in values[:50]:
        name, equals, value = one.partition("=")
        if equals and program == "env" and (kind := why_dangerous(name, value)):
            yield RuleHit(kind, f"{program} {name}=")
    if program == "env" and not run.narrowed:
        rest = [one for one in values if not one.startswith("-") and "=" not in one]
        if not rest and not any(one in ("--help", "--version") or one.startswith(("-S", "--split")) for one in values):
            yield RuleHit("credentials", "env")
    elif program == "printenv":
        names = [one for one in values if not one.startswith("-")]
        if not names or any(SECRET_NAME.search(one) for one in names):
            yield RuleHit("credentials", "printenv " + " ".join(names[:1]))
    elif program in ("export", "declare", "typeset", "readonly", "set"):
        dumps = not values or (program != "set" and all(re.fullmatch(r"-[pxgr]+", one) for one in values))
        shown = [one for one in values if SECRET_NAME.search(one) and "=" not in one]
        if dumps or (shown and any(re.fullmatch(r"-[a-z]*p[a-z]*", one) for one in values)):
            yield RuleHit("credentials", program)
    elif program == "compgen" and any(one in ("-v", "-e") for one in values):
        yield RuleHit("credentials", "compgen")


def _ps(run: Run, _place: Place) -> Iterator[RuleHit]:
    """`ps auxe` shows the variables of every process."""
    if any(re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", one) for one in run.values[:2]) or run.has("-E"):
        yield RuleHit("credentials", "ps e")


def _parallel(run: Run, _place: Place) -> Iterator[RuleHit]:
    """Without a command it runs what it reads."""
    if not run.operands("-j -I -N -a -S -n -L --jobs --colsep --joblog --delay --timeout --retries"):
        yield RuleHit("runs", "parallel")


def _prints(run: Run, _place: Place) -> Iterator[RuleHit]:
    names = [name for word in run.arguments for name in word.names if SECRET_NAME.search(name)]
    if names:
        yield RuleHit("credentials", f"${names[0]}")


# ── scripts, ourselves ────────────────────────────────────────────────────────────────────────────────────────────────

_SCRIPTS = (".sh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1")


def _runs_scripts(run: Run) -> bool:
    return (
        run.program in TASKS or run.program in SHELLS or run.program.endswith(_SCRIPTS)
        or interpreter(run.program) is not None
    )  # fmt: skip


def _only_shows(run: Run) -> bool:
    """`make -n`: what would be done."""
    return run.program in ("make", "gmake") and run.has("-n", "--dry-run", "--just-print", "--recon")


def _script_of(run: Run) -> str:
    """The name of the task or script that runs: `deploy` in `npm run deploy` and `./deploy.sh`."""
    if run.program.endswith(_SCRIPTS):
        return run.program
    if run.program not in TASKS and (how := interpreter(run.program)) is not None:
        looks = how.first or run.has("--check", "-m") or codes(run.program, run.arguments)
        scripts = [] if looks else run.operands(" ".join(how.valued))[:1]
        return next((basename(word.value) for word in scripts if word.value.endswith(_SCRIPTS)), "")
    valued = "-C -f -I -o -W" if run.program in ("make", "gmake", "just", "task") else \
        "-C --prefix -w --workspace --filter -F --cwd"  # fmt: skip
    operands = [word.value for word in run.operands(valued) if not word.value.isdigit()]
    told = len(operands)
    while operands and operands[0] in ("run", "run-script", "task", "workspace", "-"):
        operands.pop(0)
    if run.program in SHELLS:
        only_reads = shell_code(run.arguments) is not None or run.has("-n")
        return operands[0].rpartition("/")[2] if operands and not only_reads else ""
    own = told == len(operands)  # and no script of the project
    if own and run.program in ("npm", "pnpm", "yarn", "bun") and operands[:1] and operands[0] in (
        "install", "i", "add", "remove", "why", "view", "info", "list", "ls", "outdated", "audit", "exec", "dlx",
        "publish",
        "search", "uninstall", "link", "create", "init", "help", "docs", "show", "update", "upgrade", "version", "pack",
    ):  # fmt: skip
        return ""
    return next((one for one in operands if DEPLOYS.search(one)), "")


def _cmake(run: Run, place: Place) -> Iterator[RuleHit]:
    """`cmake -E` has commands of its own."""
    at = run.values.index("-E") + 1 if "-E" in run.values else len(run.values)
    if run.values[at : at + 1] and run.values[at] in ("remove", "remove_directory", "rm"):
        yield from _rm(Run("cmake -E rm", run.name, run.arguments[at + 1 :], run.folders, values=run.values[at + 1 :]),
                       place)  # fmt: skip


_SED_ALL = regex(r"\s*(?:1,\$|0,\$|1~1|0~1|/\.?\*?/)?\s*d\s*;?\s*|\s*s(\W)\^?\.\*\$?\1\1g?\s*")


def _sed(run: Run, place: Place) -> Iterator[RuleHit]:
    """A script that leaves nothing of a file."""
    scripts = [code.value for code in codes(run.program, run.arguments)]
    silent = run.has("-n", "--quiet", "--silent") and not any(re.search(r"[pPwi]", one) for one in scripts)
    if silent or any(_SED_ALL.fullmatch(one) for one in scripts):
        for word in writes_to(run):
            if not _may_go(run, word, place):
                yield RuleHit("destroys", f"sed -i on {word.value}".replace(HOLE, "…"))
                return


_EDIT_ALL = regex(r"(?:^|[|:\n])\s*(?:%|1,\$|,|g/\.?\*?/)\s*d\b")


def _edits(run: Run, place: Place) -> Iterator[RuleHit]:
    """Editors that are told what to do: all lines deleted."""
    told = [
        word.value for name, word in options_of(run.program, run.arguments) if name in ("-c", "--cmd", "-s") and word
    ]
    told += [one[1:] for one in run.values if one.startswith("+")]
    valued = "-p" if run.program == "ed" else "-c --cmd -S -u -s"
    files = [word for word in run.operands(valued) if not word.value.startswith("+")]
    if any(_EDIT_ALL.search(one) for one in (*told, run.text or "") if len(one) < 5000) and not all(
        _may_go(run, word, place) for word in files
    ):
        yield RuleHit("destroys", f"{run.program} … {files[-1].value}".replace(HOLE, "…"))


_ANSWERED = frozenset(("echo", "printf", "true", ":", "yes", "sleep"))


def _openssl(run: Run, _place: Place) -> Iterator[RuleHit]:
    """A connection that nothing is sent through shows the certificate of a site."""
    sends = run.redirected or run.printed or run.carried or not _ANSWERED.issuperset(run.fed)
    if run.values[:1] == ["s_client"] and sends:
        yield RuleHit("publishes", "… | openssl s_client")


def _perl(run: Run, place: Place) -> Iterator[RuleHit]:
    """`perl -i -ne ''` prints nothing into the place of a file."""
    scripts = [code.value for code in codes(run.program, run.arguments)]
    silent = run.has("-n") and not any(re.search(r"print|say|write|puts|\$_", one) for one in scripts)
    if scripts and (silent or any(_SED_ALL.fullmatch(one) for one in scripts)):
        for word in writes_to(run):
            if not _may_go(run, word, place):
                yield RuleHit("destroys", f"{run.program} -i on {word.value}".replace(HOLE, "…"))
                return


_SERVES = frozenset(("serve", "http-server", "live-server", "miniserve", "darkhttpd", "webfsd"))


def _serves(run: Run, place: Place) -> Iterator[RuleHit]:
    """A home folder that anybody who reaches this machine may read."""
    named = run.option("-d", "--directory", "-t")
    if run.program in _SERVES:
        given = run.operands("-p -l -a --port --listen --host")[:1]
    elif "http.server" in run.values[:3] or "-S" in run.values:
        given = [named] if named is not None else []
    else:
        return
    if any(place.is_home_of_many(path) for word in given or [Word(".")] for path in run.wholes(word, place)):
        yield RuleHit("publishes", f"{run.program} {' '.join(run.values[:3])}")


def _pager(run: Run, _place: Place) -> Iterator[RuleHit]:
    if any(one.startswith("+!") for one in run.values):
        yield RuleHit("runs", f"{run.program} +!")


_LOOKING = frozenset(
    ("status", "stats", "doctor", "demo", "version", "--version", "--help", "-h", "help", "read", "check", "docs",
     "formats", "packs", "tools", "lint", "eval", "completion", "replay", "")
)  # fmt: skip
_ASKING = frozenset(
    ("policy", "audit", "approvals", "grants", "requests", "packet", "route", "sandbox", "pr", "store", "people")
)
_LOOKS_AT = frozenset(
    ("check", "explain", "command", "show", "list", "verify", "export", "tail", "ls", "view", "doctor", "run")
)
_NEVER = frozenset(("approvals", "grants", "trust", "people", "token", "pause", "resume", "uninstall", "quarantine"))


_NEVER_DONE = frozenset((("audit", "adopt"), ("policy", "quarantine")))


def _rightcall(run: Run, _place: Place) -> Iterator[RuleHit]:
    """A model does not answer its own questions."""
    words = [word.value for word in run.operands("--policy --db --store --root --as")]
    command = words[0] if words else ""
    action = words[1] if len(words) > 1 else ""
    if command in _LOOKING or (command in _ASKING and action in _LOOKS_AT) or run.has("--help"):
        return
    if command in ("approvals", "grants", "people", "audit", "store") and not action:
        return
    never = command in _NEVER or (command, action) in _NEVER_DONE or (command == "ask" and run.has("--resume"))
    yield RuleHit("guards", f"rightcall {command} {action}".strip(), deny=never)


def _keyring(run: Run, _place: Place) -> Iterator[RuleHit]:
    if run.values[:1] not in ([], ["--help"], ["--list-backends"], ["diagnose"]):
        yield RuleHit("credentials", "keyring")


def _clipboard(run: Run, _place: Place) -> Iterator[RuleHit]:
    if not {"-o", "-out"}.isdisjoint(run.values):
        yield RuleHit("credentials", f"{run.program} -o")


def _vercel(run: Run, _place: Place) -> Iterator[RuleHit]:
    """Without a word it deploys."""
    if not run.operands("--cwd --token -t --scope -S") and not run.has("--help", "--version", "-v"):
        yield RuleHit("publishes", run.program)


def _search(run: Run, place: Place) -> Iterator[RuleHit]:
    if "grep" not in run.program or run.has("-r", "-R", "--recursive", "--dereference-recursive"):
        yield from _takes_in(run, place)
        yield from _seeks(run, place)


def _seeks(run: Run, place: Place) -> Iterator[RuleHit]:
    """A search for secrets in all that is there, hidden files among it."""
    hidden = "grep" in run.program or run.has("--hidden", "--no-ignore", "-u", "-uu", "-uuu", "--unrestricted", "-.")
    chosen = run.option("--include", "-g", "--glob", "--iglob")
    narrowed = (chosen is not None and chosen.value not in ("*", "**", "*.*")) or run.has("-t", "--type")
    if not hidden or narrowed or run.fed:
        return
    operands = run.operands("-e -f -A -B -C -m --regexp --file --max-depth")
    given = [word for name, word in options_of(run.program, run.arguments) if name in ("-e", "--regexp") and word]
    patterns, places = (given, operands) if given else (operands[:1], operands[1:])
    if not any(seeks_secrets(word.value) for word in patterns):
        return
    if not places or any(place.is_above(path) for word in places for path in run.wholes(word, place)):
        yield RuleHit("credentials", f"{run.program} {patterns[0].value}")


def _takes_in(run: Run, place: Place) -> Iterator[RuleHit]:
    """All of a home folder or of the system: credentials are among it."""
    for word in run.operands():
        if any(map(place.is_home_of_many, run.wholes(word, place))):
            yield RuleHit("credentials", f"{run.program} {word.value}")
            return


def _tar(run: Run, place: Place) -> Iterator[RuleHit]:
    given = {name for name, _ in options_of(run.program, run.arguments)}
    if not given.isdisjoint(("-c", "-r", "-u", "--create", "--append", "--update")):
        yield from _takes_in(run, place)
    if run.has("--checkpoint-action", "--to-command", "--info-script", "--new-volume-script") or "-F" in given:
        yield RuleHit("runs", "tar --checkpoint-action")
    if run.has("--remove-files"):
        yield RuleHit("destroys", "tar --remove-files", ("--remove-files",))
    if not unpacks(run):
        return
    into = run.option("-C", "--directory")
    if into is not None and any(place.is_everything(path) for path in run.wholes(into, place)):
        yield RuleHit("persists", f"tar -C {into.value}")
    if "-P" in given or run.has("--absolute-names"):
        yield RuleHit("persists", "tar -P", ("-P",))


def _tee(run: Run, _place: Place) -> Iterator[RuleHit]:
    if any(is_disk(one) for one in run.values):
        yield RuleHit("destroys", "tee", deny=True)
    yield from _prints(run, _place)


def _make(run: Run, _place: Place) -> Iterator[RuleHit]:
    """Rules that come from elsewhere than a file of the project."""
    file = run.option("-f", "--file", "--makefile")
    if any(one.startswith(("SHELL=", ".SHELLFLAGS=", "MAKEFLAGS=")) for one in run.values) or any(
        one == "-E" or one.startswith(("--eval", "-E")) for one in run.values
    ):
        yield RuleHit("runs", "make SHELL=")
    elif file is not None and (file.value in ("-", "/dev/stdin") or file.value.startswith("/dev/fd/")):
        yield RuleHit("runs", "make -f -")


_JQ_ENVIRONMENT = regex(r"(?:\$ENV|(?<![.\w\"$])env)\b(?!\s*:)(?!\"|\.(?!\w*(?:SECRET|TOKEN|PASS|KEY|CREDENTIAL))\w+)")


def _jq(run: Run, _place: Place) -> Iterator[RuleHit]:
    """`jq -n env` shows all variables."""
    code = [word.value for at, word in enumerate(run.arguments) if not word.value.startswith("-")
            and not {"--arg", "--argjson", "--slurpfile", "--rawfile"}.intersection(run.values[max(at - 2, 0) : at])
            ]  # fmt: skip
    if code and _JQ_ENVIRONMENT.search(code[0]):
        yield RuleHit("credentials", "jq env")


def _words_only(run: Run, _place: Place) -> Iterator[RuleHit]:
    """`set +o history` and the like."""
    if joined(run.arguments[:2]) == "+o history":
        yield RuleHit("guards", "set +o history")
    yield from _environment(run, _place)


_RULES: dict[str, Callable[[Run, Place], Iterator[RuleHit]]] = {
    **dict.fromkeys(("rm", "grm", "unlink", "rimraf", "srm", "del-cli", "remove-item"), _rm),
    **dict.fromkeys(("find", "gfind"), _find),
    "truncate": _truncate,
    **dict.fromkeys(("head", "fallocate", "ghead"), _allots),
    **dict.fromkeys(("ed", "ex", "vi", "vim", "nvim"), _edits),
    **dict.fromkeys(("less", "more"), _pager),
    "dd": _dd,
    "mv": _mv,
    "move-item": _mv,
    "copy-item": _cp,
    "gmv": _mv,
    "cp": _cp,
    "install": _cp,
    "ln": _ln,
    **dict.fromkeys(("trash", "trash-put", "gio", "rename", "prename", "setfattr"), _away),
    **dict.fromkeys(("venv", "virtualenv", "uv", "poetry", "pipenv", "pdm", "hatch"), _environments),
    **dict.fromkeys(KILLS, _kill),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _chmod),
    "crontab": _crontab,
    "git": git_rules,
    **dict.fromkeys(("curl", "curlie"), curl_rules),
    "wget": wget_rules,
    **dict.fromkeys(("http", "https", "xh", "xhs"), httpie_rules),
    **dict.fromkeys(("grpcurl", "grpc_cli", "evans", "buf"), grpc_rules),
    **dict.fromkeys(MESSAGING, message_rules),
    **dict.fromkeys(("scp", "rsync"), _rsync),
    "ssh": ssh_rules,
    **dict.fromkeys(("env", "printenv", "export", "declare", "typeset", "readonly", "compgen"), _environment),
    "set": _words_only,
    **dict.fromkeys(("echo", "printf", "print", "cat", "logger", "base64", "xxd", "od"), _prints),
    "pg_restore": restore_rules,
    "cmake": _cmake,
    **dict.fromkeys(("kubectl", "oc", "k"), kubectl_rules),
    **dict.fromkeys(("sed", "gsed"), _sed),
    "ps": _ps,
    "parallel": _parallel,
    **dict.fromkeys(CONTAINERS, container_rules),
    **dict.fromkeys(("docker-compose", "podman-compose"), compose_rules),
    "rightcall": _rightcall,
    "openssl": _openssl,
    **dict.fromkeys(("python", "php", *_SERVES), _serves),
    **dict.fromkeys(("perl", "ruby"), _perl),
    **dict.fromkeys(("vercel", "now", "surge"), _vercel),
    "keyring": _keyring,
    "xclip": _clipboard,
    "tee": _tee,
    **dict.fromkeys(("jq", "gojq", "jaq"), _jq),
    "redis-cli": redis_rules,
    "gh": gh_rules,
    **dict.fromkeys(("aws", "gcloud", "gsutil", "rclone", "mc", "s3cmd", "s5cmd"), bucket_rules),
    **dict.fromkeys(("nc", "ncat", "netcat"), netcat_rules),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "rga"), _search),
    **dict.fromkeys(("zip", "7z", "7za"), _takes_in),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("nslookup", "dig", "host", "ping", "drill", "getent"), lookup_rules),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
}


_HARMLESS = known_names("harmless")
"""Their words are names and texts, also where those are the names of programs."""


@lru_cache(1)
def known_programs() -> frozenset[str]:
    return frozenset((*_RULES, *CLIENTS, *programs(), *SHELLS, *RUNNING))


def is_listed(program: str) -> bool:
    """Whether a rule or a list speaks of a program, or its words are known to be harmless."""
    return program in _HARMLESS or program in known_programs() or interpreter(program) is not None
