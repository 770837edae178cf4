"""What is found in one command line: what asks or is refused and by which rule, the paths and the addresses in it.

    judge.py ─▶ a program of the line ─┬─▶ patterns of the policy, starter list ─▶ findings
                                       ├─▶ files that it prints, names or writes ─▶ paths
                                       └─▶ addresses ─▶ findings of the URL rules

`Findings` also knows what the line has said before: variables, files that it wrote, links that it made.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from rightcall.base.files.guarded import follow
from rightcall.base.text import escaped, regex
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.actions import (
    DUMPS,
    is_named_dangerously,
    is_sql_client,
    production_rules,
    sql_files,
    sql_rules,
)
from rightcall.policy.commands.git import (
    as_words,
    fed_files,
    is_unseen,
    lists_settings,
    patch_files,
    patch_folder,
    picks_secrets,
    program_of,
    read_patches,
    read_small,
    reads_names,
    written_text,
)
from rightcall.policy.commands.inline import (
    codes,
    interpreter,
)
from rightcall.policy.commands.launchers import ACTING
from rightcall.policy.commands.listings import (
    compared_whole,
    is_emptied_by,
    is_read_before,
    listing_of,
    may_be_lost,
    named_by,
    packed_whole,
    prints_all,
    searched_whole,
    secret_in,
    sources_of,
)
from rightcall.policy.commands.network import CONNECTS, Brought, addresses
from rightcall.policy.commands.outputs import read_by_console, writes_to
from rightcall.policy.commands.paths import (
    MOST_PATHS,
    Use,
    expanded,
    is_plain,
    is_text_only,
    may_mean,
    parts,
    path_words,
    use_of,
    with_dots,
)
from rightcall.policy.commands.patterns import WHY, Pattern, compiled, first_hit, listed
from rightcall.policy.commands.places import Place, SeenPath, is_device, is_disk
from rightcall.policy.commands.rules import found_in, is_listed, known_programs, never_ends
from rightcall.policy.commands.runs import (
    FETCHERS,
    SECRET_NAME,
    SHELLS,
    RuleHit,
    Run,
)
from rightcall.policy.commands.scanner import ReadingBudget
from rightcall.policy.commands.shell import Redirect, Simple
from rightcall.policy.commands.urls import Address, first_url_hit
from rightcall.policy.commands.words import HOLE, WILD, Word, basename, known_names, spelled
from rightcall.policy.commands.wrappers import Inner, shell_code
from rightcall.policy.types import Finding

Against = Literal["ask", "deny"]
_UPWARDS = regex(r"\A[./]*/")
CANNOT = "cannot be judged before it runs"
_MOST_QUESTIONS = 50
_MOST_LINKS = 8
"""Links of one line that lead to each other."""
_TAKES_FOLDERS = frozenset(("cp", "gcp", "mv", "gmv", "rsync", "scp", "tar", "bsdtar", "gtar", "zip", "7z", "ditto"))
"""What they are given they take with all that is in it, for which `folder/*` stands."""
_SOUGHT = regex(r"pass|secret|token|key|cred|auth|login", re.IGNORECASE)
_LONGEST_SQL = 100_000
"""Characters of a script that are looked at."""


class Findings:
    """Of one command line; what is found in it gathers in `findings` and `paths`."""

    def __init__(self, commands: CommandRules, urls: UrlRules, place: Place) -> None:
        self.commands = commands
        self.urls = urls
        self.place = place
        self.budget = ReadingBudget()
        self.findings: list[Finding] = []
        self.asked = 0
        self.paths: dict[tuple[str, bool], SeenPath] = {}
        self.brought = Brought(place)
        self.written: dict[str, str] = {}
        """Texts that this very line writes to files, as far as they are known."""
        self.filled: set[str] = set()
        """Files that it writes what nobody knows to."""
        self.taken: dict[str, list[Word]] = {}
        """What a variable may hold that is read from a text of the line."""
        self.carried: dict[str, tuple[str, ...]] = {}
        """Programs whose output a variable holds."""
        self.linked: dict[str, str] = {}
        """Links that the line makes, and where they lead."""
        self.sought: bool = False
        """The line looks for our own processes."""
        self.moved: set[str] = set()
        """Where the line moves something to: there it is all that is left of it."""
        self.renamed: dict[str, str] = {}
        """Programs that the line itself puts under another name."""
        self.production = ""
        """What a variable of the line says of production."""
        self.enumerated: dict[str, list[Simple]] = {}
        """Commands whose output a variable holds, as they are."""
        self.dotted = False
        """A wildcard of the line stands for hidden files too."""
        self.unhooked = ""
        """The variable of the line that leaves out the hooks of git."""
        self.variables: dict[str, tuple[str, ...] | None] = {
            "HOME": (place.home,), "PWD": place.folders, "TMPDIR": ("/tmp",), "IFS": (" ",), "USER": None,
        }  # fmt: skip

    def add(self, answer: Against, rule: str, why: str) -> None:
        """Questions are only so many, since one stops the command as well as fifty; a denial is never left out."""
        if answer == "deny" or self.asked < _MOST_QUESTIONS:
            self.asked += answer == "ask"
            self.findings.append(Finding(answer, rule, escaped(why, 200)))

    def unreadable(self, why: str) -> None:
        """A limit was reached: a person is asked, and the rest is still judged as far as it goes."""
        finding = Finding("ask", "command:unreadable", f"the command cannot be judged: {why}")
        if finding not in self.findings:
            self.findings.append(finding)

    def _asks(self, kind: str, words: str) -> None:
        if self.commands.starter:
            self.add("ask", f"command:{kind}", f"`{words}` {WHY[kind]}")

    # ── what the policy and the starter list say ────────────────────────────────────────────────────────────────────

    def _by_pattern(self, run: Run) -> list[Pattern]:
        """The user's own lists; what `allow` says of the command comes back."""
        rules = self.commands
        if not (rules.deny or rules.ask or rules.allow):
            return []
        allowed: list[Pattern] = []
        for program, values in ((run.program, run.values), *_script_of(run)):
            if rules.deny and (hit := first_hit(rules.deny, program, values)):
                self.add("deny", "command:deny", f'`{spelled([run.name, *run.arguments])}` is denied by "{hit.text}"')
            if rules.ask and (hit := first_hit(rules.ask, program, values)):
                self.add("ask", "command:ask", f'`{spelled([run.name, *run.arguments])}` asks by "{hit.text}"')
            allowed += [one for text in rules.allow if (one := compiled(text)).hits(program, values, surely=True)]
        return allowed

    def _by_starter(self, run: Run, allowed: list[Pattern]) -> None:
        for found in found_in(run, self.place):
            self._starter(found, allowed)
        for found in production_rules(run, self.production):
            self._starter(found, allowed)
        line = listed(run.program, run.values)
        if line is not None:
            kind, pattern = line
            options = tuple(one[0].rstrip("*") for one in pattern.options)
            self._starter(RuleHit(kind, spelled([Word(run.program), *run.arguments], 60), options), allowed)

    def _starter(self, found: RuleHit, allowed: list[Pattern]) -> None:
        if found.deny:
            rule = "command:guards" if found.kind == "guards" else "command:catastrophic"
            self.add("deny", rule, f"`{found.words}` {WHY[found.kind]}")
        elif not any(all(one.names(option) for option in found.options) for one in allowed):
            self.add("ask", f"command:{found.kind}", f"`{found.words}` {WHY[found.kind]}")

    def _sql_scripts(self, run: Run, command: Simple, commands: list[Simple], allowed: list[Pattern]) -> None:
        """What the scripts do that a client of a database reads; of one that is not here yet its name tells, and one
        that is too large to look at may do anything."""
        for word in [*fed_files(command, commands), *sql_files(run)][:20]:
            text = read_small(run.folders, word, self.written)
            for found in sql_rules(run.program, (text or "")[:_LONGEST_SQL]):
                self._starter(found, allowed)
            is_whole = text is not None and len(text) <= _LONGEST_SQL
            if not is_whole or (not text and is_named_dangerously(word.value)):
                self._starter(RuleHit("destroys", f"{run.program} < {word.value}"), allowed)
        if not FETCHERS.isdisjoint(run.fed):
            self._asks("network", f"{run.fed[0]} | {run.program}")
        elif not DUMPS.isdisjoint(run.fed):
            self._asks("destroys", f"{run.fed[0]} | {run.program}")

    # ── files that are printed, as a whole or by a list of names ────────────────────────────────────────────────────

    def _named_in(self, words: list[Word], commands: list[Simple]) -> list[Simple]:
        """The commands whose output stands in words, or in the variables among them."""
        found = [commands[at] for word in words[1:] for at in word.inner]
        return found + [one for word in words[1:] for name in word.names for one in self.enumerated.get(name, ())]

    def _prints_named(self, run: Run, found: list[Simple], commands: list[Simple]) -> None:
        """Files that one command enumerates and another prints: see `listings.py`."""
        if not found or run.elsewhere or not prints_all(run):
            return
        for source in sources_of(found, commands):
            program, *values = [word.value for word in source.words] or [""]
            given = source.words[1:] if basename(program) in ("ls", "gls") else ()
            for word in (*named_by(basename(program), values), *(one for one in given if one.value[:1] != "-")):
                self.see(word, source.folders, "reads")
            listing = listing_of(basename(program), values)
            if listing is not None and (name := secret_in(listing, source.folders, self.place)):
                self._asks("credentials", f"{program} … {run.program} … {name}")
                return

    def _prints_whole(self, run: Run, command: Simple, commands: list[Simple]) -> None:
        """Folders that are printed with all that is in them."""
        if run.program in ("tar", "bsdtar", "gtar", "zip"):
            at = next((n for n, one in enumerate(commands) if one is command), -1)
            after = [program_of(one) for one in commands[at + 1 :] if at in one.fed and one.words] if at >= 0 else []
            written = any(one.writes for one in command.redirects)
            listing = None if written else packed_whole(run, after)
        else:
            listing = compared_whole(run) if run.program in ("diff", "git") else None
            listing = listing or searched_whole(run)
        if listing is not None and (name := secret_in(listing, run.folders, self.place)):
            self._asks("credentials", f"{run.program} {' '.join(run.values[:3])} … {name}")

    def _picked(self, program: str, command: Simple, commands: list[Simple]) -> None:
        """Files that a list of names is narrowed to: `ls -a | grep env | xargs cat`."""
        sources = [at for word in command.words[1:] for at in word.inner]
        if program in ("xargs", "gxargs", "parallel"):
            sources += command.fed
        elif program in ("grep", "egrep", "rg") and command.fed:
            listed = commands[command.fed[-1]]
            if lists_settings(listed) and any(SECRET_NAME.search(one.value) for one in command.words[1:]):
                self._asks("credentials", "git config")
            elif program_of(listed) == "history" and any(_SOUGHT.search(one.value) for one in command.words[1:]):
                self._asks("credentials", f"history | {program}")
            return
        for at in sources:
            if commands[at].fed and not is_text_only(program) and (name := picks_secrets(commands[at])):
                self._asks("credentials", f"{program} … {name}")
                return

    def _held(self, words: list[Word]) -> tuple[str, ...]:
        return tuple(one for word in words[1:] for name in word.names for one in self.carried.get(name, ()))

    # ── what the line writes ────────────────────────────────────────────────────────────────────────────────────────

    def _notes_written(self, run: Run, command: Simple) -> None:
        """Texts that are written to files in this very line, and may be run by it."""
        targets = [one.target for one in command.redirects if one.writes]
        if run.program == "ln" and len(ends := run.operands("-t -S")) == 2:
            source, link = (self.place.whole(run.folders[0], word.value) for word in ends)
            self.linked[link] = self.linked[f"{link}/{source.rpartition('/')[2]}"] = source
        if run.program == "tee":
            targets += run.operands()
        if run.program in ("cp", "mv", "ln", "install") and len(operands := run.operands()) > 1:
            target = self.place.whole(run.folders[0], operands[-1].value)
            if (text := self.written.get(self.place.whole(run.folders[0], operands[0].value))) is not None:
                self.written[target] = text
            if run.program == "mv":
                self.moved.update((target, *(f"{target}/{basename(word.value)}" for word in operands[:-1])))
            if "/" in operands[0].value and is_head(operands[0].value, " -"):
                self.renamed[target] = basename(operands[0].value)
        text = written_text(run, command) if targets else None
        if text is None:
            unknown = targets[:20] if run.program != "git" else ()
            self.filled.update(self.place.whole(run.folders[0], target.value) for target in unknown)
            return
        added = run.has("-a", "--append") or any(one.operator in (">>", "&>>") for one in command.redirects)
        for target in targets[:20]:
            whole = self.place.whole(run.folders[0], target.value)
            self.written[whole] = (self.written.get(whole, "") + "\n" + text if added else text)[:200_000]

    def _patch(self, run: Run, command: Simple, commands: list[Simple]) -> None:
        """The files that a patch names are written as if the command named them."""
        folders = self._folders_of(run)
        if (into := patch_folder(run)) is not None:
            folders += tuple(self.place.whole(folder, into.value) for folder in run.folders)
        named = patch_files(run)
        given = [*fed_files(command, commands), *named]
        meant = [expanded(word, folders, self.place) for word in given]
        files = [Word(text) for one in meant for text in one.texts]
        patching = read_patches(run, files, folders, self.written)
        for path in patching.paths[: MOST_PATHS + 1]:
            self.see(Word(path), folders, "writes", elsewhere=run.elsewhere)
        unseen = patching.unknown or any(one.cut for one in meant) or is_unseen(run, named, command, commands)
        wholes = {self.place.whole(folder, word.value) for word in (*files, *run.arguments) for folder in folders}
        if unseen or not wholes.isdisjoint(self.brought.files | self.filled) or set(run.fed) & FETCHERS:
            self.add("ask", "command:unreadable", f"`{run.program}`: the patch it applies {CANNOT}")

    def _redirect(self, redirect: Redirect, command: Simple, commands: list[Simple], elsewhere: bool) -> None:
        if redirect.text is not None:
            self._here_text(redirect, command)
            return
        target = redirect.target
        if target.value.startswith(("/dev/tcp/", "/dev/udp/")):
            self._asks("escalates", target.value)
            return
        self.see(target, command.folders, "writes" if redirect.writes else "reads", elsewhere=elsewhere)
        if redirect.writes and never_ends(command) and not is_device(target.value):
            self._asks("destroys", f"{command.words[0].value} > {target.value}".replace(HOLE, "…"))
        if not elsewhere and is_emptied_by(redirect, command, commands):
            self._empties(target, command.folders)
        elif not elsewhere and is_read_before(redirect, command, commands):
            self._empties(target, command.folders, seen=True)

    def _here_text(self, redirect: Redirect, command: Simple) -> None:
        if not self.commands.starter or not command.words or redirect.operator != "<<<":
            return
        names = [name for name in redirect.target.names if SECRET_NAME.search(name)]
        if names:
            self._asks("credentials", f"${names[0]}")

    def _empties(self, word: Word, folders: tuple[str, ...], *, seen: bool = False) -> None:
        """A file is left empty; `seen`: only one that has something in it counts, since code makes new ones so, or one
        that nobody can look for."""
        for folder in folders:
            path = self.place.whole(folder, word.value)
            if not (self.place.is_made_again(path) or self.place.is_temporary(path) or is_device(path)) and (
                not seen or not word.known or may_be_lost(path)
            ):
                self._asks("destroys", f"> {word.value}".replace(HOLE, "…"))

    # ── paths and addresses ─────────────────────────────────────────────────────────────────────────────────────────

    def _sees(self, run: Run, *, elsewhere: bool) -> None:
        if "/" in run.name.value:
            self.see(run.name, run.folders)
        writes = {word.value for word in writes_to(run)}
        folders = self._folders_of(run)
        for word in path_words(run):
            if word.glob is not None and run.program in ("cd", "pushd"):
                continue  # what is done in the folders it leads to is judged there
            use = "writes" if word.value in writes else use_of(run, word)
            self.see(word, folders, use, elsewhere=elsewhere)
        for word in writes_to(run):
            self.see(word, run.folders, "writes", elsewhere=elsewhere)
        if run.program in _TAKES_FOLDERS and not elsewhere:
            for word in run.operands("-C -f -t"):
                for folder in folders if word.known and word.glob is None else ():
                    self._note(word.value, self.place.whole(folder, f"{word.value}/*"), False, True, elsewhere)
        if run.text is not None and reads_names(run):
            for word in as_words(run.text):
                for one in parts(word):
                    self.see(one, run.folders, "reads", elsewhere=elsewhere)
        for word in read_by_console(run) if is_sql_client(run) else ():
            self.see(word, run.folders, "reads", elsewhere=elsewhere)

    def _folders_of(self, run: Run) -> tuple[str, ...]:
        """`git -C dir`, `make -C dir`, `tar -C dir`: its paths count from there too."""
        for option in ("-C", "--directory", "--work-tree", "--prefix", "--cwd"):
            if option in run.values[:-1]:
                into = run.values[run.values.index(option) + 1]
                return (*run.folders, *(self.place.whole(folder, into) for folder in run.folders))
        return run.folders

    def see(self, word: Word, folders: tuple[str, ...], use: Use = "unknown", *, elsewhere: bool = False) -> None:
        """Note a path for the path rules, and ask about the places that the starter list knows."""
        if self.dotted and word.glob is not None and (dotted := with_dots(word)) is not None:
            self.see(dotted, folders, use, elsewhere=elsewhere)
        meant = expanded(word, folders, self.place)
        if meant.cut and use != "names":
            self.unreadable(f"`{word.value[:60]}` may match more files than RightCall checks")
        written = word.value.replace(HOLE, "x")  # and not what a wildcard stands for: that may be protected
        for text in meant.texts if use != "names" else meant.texts[:1]:
            shown = text.replace(HOLE, "x")
            if not shown or (use == "names" and not is_plain(shown)):
                continue
            for folder in folders:
                for base in ("/", self.place.root) if HOLE in folder else (folder,):
                    whole = self.place.whole(base, shown)
                    if use in ("reads", "names") and self.place.is_policy(whole):
                        continue
                    self._note(written, whole, use == "writes", HOLE in text or HOLE in folder, elsewhere)
                    for led in self._led(whole) if self.linked else ():
                        self._note(written, led, use == "writes", False, elsewhere)
        if HOLE in word.value and use != "names" and not elsewhere:
            self._may_mean(word, folders, use)
        if use == "reads" and self.place.holds_values(written):
            self._asks("credentials", written)
        for told in self._taken(word) if self.taken and HOLE in word.value else ():
            self.see(told, folders, use, elsewhere=elsewhere)
        if (tail := _tail_of(word)) is not None and use != "names":
            self.see(tail, (self.place.root,), use, elsewhere=elsewhere)

    def _led(self, whole: str) -> Iterator[str]:
        """Where a path leads through the links that the line makes."""
        for _ in range(_MOST_LINKS):
            ends = (at for at, sign in enumerate(f"{whole}/") if sign == "/" and whole[:at] in self.linked)
            link = whole[: next(ends, 0)]
            if not link:
                return
            whole = os.path.normpath(self.linked[link] + whole[len(link) :])
            yield whole

    def _may_mean(self, word: Word, folders: tuple[str, ...], use: Use) -> None:
        """An unknown part of a name is a wildcard: `cat .e${x}nv`."""
        there, protected = may_mean(word, folders, self.place, opened=use == "reads")
        for path in there:
            self.see(Word(path.replace(HOLE, "x")), folders, use)
        if protected:
            shown = word.value.replace(HOLE, "…")
            self.add("ask", "command:unreadable", f"`{shown}` may mean a protected file: which one {CANNOT}")

    def _taken(self, word: Word) -> list[Word]:
        """A word with what was read into its variables in their place."""
        told = [one for name in word.names for one in self.taken.get(name, ())]
        return told if word.value == HOLE else [Word(word.value.replace(HOLE, one.value)) for one in told]

    def _note(self, written: str, whole: str, writes: bool, unknown: bool, elsewhere: bool) -> None:
        if (whole, writes) in self.paths:
            return
        if len(self.paths) >= MOST_PATHS:
            self.unreadable(f"it names more than {MOST_PATHS} paths")
            if not is_plain(whole[:4096]):
                self.add("deny", "path:secret", f"No such file or folder: {written}")
            return
        self.paths[whole, writes] = SeenPath(written, whole, writes)
        if self.commands.starter and not elsewhere:
            self._placed(written, whole, writes, unknown)

    def _placed(self, shown: str, whole: str, writes: bool, unknown: bool) -> None:
        place = self.place
        if place.holds_credentials(whole):
            self.add("ask", "command:credentials", f"`{shown}` holds credentials")
        if not writes:
            return
        real = whole if unknown else follow(whole)
        for path in {whole, real}:
            if is_disk(path):
                self.add("deny", "command:catastrophic", f"`{shown}`: writing to a whole disk destroys what is on it")
            elif place.is_guard(path):
                self.add("ask", "command:guards", f"`{shown}` {WHY['guards']}")
            elif not is_device(path) and place.is_started_from(path):
                self.add("ask", "command:persists", f"writing to `{shown}` {WHY['persists']}")
            elif not (unknown or place.may_be_filled(path) or is_device(path)):
                self.add("ask", "command:outside", f"`{shown}` is outside the project, and is written to")

    def _addresses(self, run: Run, allowed: list[Pattern]) -> None:
        del allowed  # an allowed program may still be led to an address that is not
        if run.program not in CONNECTS and "://" not in "".join(run.values):
            return
        for address in addresses(run):
            if address.host != HOLE:
                self.address(address)

    def address(self, address: Address) -> None:
        """The URL rules; a `file:` address is a path."""
        shown = str(address)[:100]
        if self.urls.deny and (hit := first_url_hit(self.urls.deny, address)):
            self.add("deny", "url:deny", f'`{shown}` is denied by "{hit}"')
            return
        if self.urls.ask and (hit := first_url_hit(self.urls.ask, address)):
            self.add("ask", "url:ask", f'`{shown}` asks by "{hit}"')
        if address.scheme == "file":
            self.see(Word(address.path), self.place.folders)
        elif self.urls.starter and address.is_metadata and not (
            self.urls.allow and first_url_hit(self.urls.allow, address, surely=True)
        ):  # fmt: skip
            self.add("ask", "url:metadata", f"`{shown}`: a cloud hands out credentials there")


def _tail_of(word: Word) -> Word | None:
    """What stands behind the unknown beginning of a path, which may be the root: `$(git rev-parse …)/private/x`."""
    at = word.value.rfind(HOLE) + 1
    tail = _UPWARDS.sub("", word.value[at:])
    if not at or not tail or "/" not in word.value[at:]:
        return None
    glob = _UPWARDS.sub("", word.glob.rpartition(HOLE)[2]) if word.glob is not None else ""
    return Word(tail, glob if WILD.search(glob) else None)


def _script_of(run: Run) -> list[tuple[str, list[str]]]:
    """The script that a shell or an interpreter runs, as the program it is: `bash deploy.sh` is `./deploy.sh`."""
    if run.program in SHELLS:
        if shell_code(run.arguments) is not None:
            return []
    elif interpreter(run.program) is None or codes(run.program, run.arguments) or "-m" in run.values:
        return []
    for at, value in enumerate(run.values):
        if not value.startswith(("-", "+")):
            return [(basename(value), run.values[at + 1 :])] if value else []
    return []


# ── programs that nobody listed ──
# Programs that nobody listed. What they do with their words is not known, so every tail of them that begins with a
# program the rules know is judged as if it were started, and so is a word that holds a whole command.

_MOST_TAILS = 12
_WORDS = known_names("likely words")
"""Names that are as likely a word: `ruff format src`, `tool init`."""
_STILL = frozenset(("env", "exec", "eval", "timeout", "nice", "pnpm", "npm", "yarn", "find", "cat", "cp", "mv", "tee"))
"""Those of them that count all the same where an option or a path follows, or behind `--` and `exec`."""
_TEXTS = frozenset(
    ("-m", "--message", "--title", "--body", "--description", "-k", "--grep", "-g", "--filter", "-t", "--name",
     "--text", "--comment", "--prompt", "-p", "--query", "-q", "--pattern", "--match", "--reason", "--summary")
)  # fmt: skip


@lru_cache(1)
def _heads() -> frozenset[str]:
    return frozenset(name for name in known_programs() if name not in _WORDS or name in _STILL)


def tails(program: str, arguments: list[Word]) -> Iterator[Inner]:
    """What a program may start that the rules do not know; of one they know only what stands behind `exec` or
    `--`."""
    start = 0
    if is_listed(program):
        if program not in _EXECUTES:
            return
        start = next((at for at, word in enumerate(arguments[:8], 1) if word.value in ("exec", "run", "shell")), -1)
        if start < 0:
            yield from _behind_dashes(arguments)
            return
    found = 0
    for at in range(start, len(arguments)):
        value = arguments[at].value
        before = arguments[at - 1].value if at else ""
        if " " in value.strip():
            if before not in _TEXTS and is_head(value.split()[0].rpartition("=")[2], " -"):
                yield Inner(code=arguments[at])
                found += 1
        elif at + 1 < len(arguments) and is_head(value, _rest(arguments, at), behind=before in ("--", "exec", "run")):
            ends = arguments[at + 1].value == "--"  # the wrapper's own, as `start-stop-daemon -x rm -- -r x` has it
            yield Inner((arguments[at], *arguments[at + 1 + ends :]))
            found += 1
        if found >= _MOST_TAILS:
            yield Inner(code=Word("\ue000"))
            return


def _behind_dashes(arguments: list[Word]) -> Iterator[Inner]:
    """`npm explore x -- rm y`: an action that nobody listed hands on what follows."""
    at = next((at for at, word in enumerate(arguments[:50], 1) if word.value == "--"), len(arguments))
    rest = arguments[at:]
    if rest and (" " in rest[0].value.strip() or is_head(rest[0].value, "", behind=True)):
        yield Inner(tuple(rest))


_EXECUTES = ACTING | frozenset(
    ("nix", "rustup", "volta", "lerna", "pnpm", "yarn", "npm", "tox", "mise", "asdf", "nvm", "bundle", "flatpak",
     "conda", "mamba", "uv", "poetry", "nx", "go", "perf")
)  # fmt: skip


def _rest(arguments: list[Word], at: int) -> str:
    return f" {arguments[at + 1].value}"


def is_head(word: str, rest: str, *, behind: bool = False) -> bool:
    """Whether a word is the name of a program that would be judged; `rest` is what follows."""
    if "=" in word or word.startswith("-"):
        return False
    name = basename(word)
    if name not in _heads() and interpreter(name) is None and not name.startswith("mkfs"):
        return False
    return name not in _WORDS or behind or "/" in word or rest.startswith((" -", " /", " ~", " ."))
