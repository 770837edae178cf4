"""Reads a command line, sees through what starts other programs, and asks the rules about each of them.

    text ─▶ shell.LineReader ─▶ simple commands ─▶ wrappers ─▶ runs ─┬─▶ patterns of the policy   deny, ask, allow
                                                                     ├─▶ starter rules            ask, rarely deny
                                                                     ├─▶ paths                    for the path rules
                                                                     └─▶ addresses                for the URL rules

Its methods raise UnreadableLine for what asks in whole; `judgement.py` says so.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from rightcall.base.text import escaped, regex
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.actions import (
    DUMPS,
    is_named_dangerously,
    is_sql_client,
    named_production,
    production_rules,
    sql_files,
    sql_rules,
)
from rightcall.policy.commands.git import (
    applies_patch,
    as_words,
    exported,
    fed_files,
    handed_on,
    input_of,
    is_narrowed,
    list_of,
    lists_settings,
    patched_by,
    picks_secrets,
    printers,
    program_of,
    read_small,
    reads_names,
    replaced_by,
    runs_hooks,
    told_by,
    written_text,
)
from rightcall.policy.commands.inline import (
    LONGEST_CODE,
    codes,
    composed,
    guards,
    interpreter,
    is_fed,
    is_written,
    judged,
    texts_in,
)
from rightcall.policy.commands.launchers import inner_of, sets_up
from rightcall.policy.commands.listings import (
    FINDERS,
    WHOLE_FOLDERS,
    compared_whole,
    emptied_by,
    empties_in_code,
    enumerated_in_code,
    is_emptied_by,
    listing_of,
    may_be_lost,
    named_by,
    packed_whole,
    prints_all,
    searched_whole,
    secret_in,
    sources_of,
)
from rightcall.policy.commands.network import CONNECTS, Brought, addresses, obeyed_files, recipes_in
from rightcall.policy.commands.paths import (
    MOST_PATHS,
    Use,
    expanded,
    found_words,
    is_plain,
    is_text_only,
    parts,
    path_words,
    use_of,
    with_dots,
)
from rightcall.policy.commands.places import Place, SeenPath, followed, is_device, is_disk
from rightcall.policy.commands.rules import KILLS, ends_us, found_in, never_ends, seeks_us
from rightcall.policy.commands.runs import (
    FETCHERS,
    SECRET_NAME,
    VALUED,
    RuleHit,
    Run,
    action_at,
    option_value,
    skips_hooks,
    why_dangerous,
    writes_to,
)
from rightcall.policy.commands.shell import OPENED, STDIN, LineReader, Redirect, Simple, positional, printed
from rightcall.policy.commands.starter import WHY, listed
from rightcall.policy.commands.unknown import is_head, tails
from rightcall.policy.commands.urls import Address, first_url_hit, parsed
from rightcall.policy.commands.words import HOLE, WILD, ReadingBudget, UnreadableLine, Word, basename, spelled
from rightcall.policy.commands.wrappers import SHELLS, Inner, Pattern, assigned_code, first_hit, shell_code
from rightcall.policy.types import Finding

Against = Literal["ask", "deny"]
_PATH_LIKE = regex(r"[~/].*|[^\s/]+(?:/[^\s/]+)*/?(?<=[\w/])")
"""A text in code that may be a file: a path from the root on, or one word."""
_UPWARDS = regex(r"\A[./]*/")
_MOST_QUESTIONS = 50
_MOST_TAKEN = 100
_MOST_WORDS = 5000
"""Of one command; no system starts a program with many more."""
_UNPACKS = frozenset(
    ("unzip", "tar", "gunzip", "gzip", "bunzip2", "xz", "unxz", "zstd", "7z", "unrar", "cat", "head", "tail", "less",
     "wc", "jq", "grep", "file", "ls", "stat", "sha256sum", "md5sum", "diff", "rm", "mv", "cp", "chmod", "zipinfo")
)  # fmt: skip
"""They look at what was fetched, or unpack it, and run nothing of it."""
_TAKES_FOLDERS = frozenset(("cp", "gcp", "mv", "gmv", "rsync", "scp", "tar", "bsdtar", "gtar", "zip", "7z", "ditto"))
"""What they are given they take with all that is in it, for which `folder/*` stands."""
_PLAIN_NAME = regex(r"ver|tag|arch|^os$|sha|commit|branch|port|host|url|date|^id$|_id$", re.IGNORECASE)
"""Variables that hold what stands in many addresses."""
_SOUGHT = regex(r"pass|secret|token|key|cred|auth|login", re.IGNORECASE)
_CANNOT = "cannot be judged before it runs"


_LISTING = frozenset(
    ("find", "gfind", "fd", "fdfind", "ls", "seq", "sort", "uniq", "head", "tail", "nl", "shuf")
)  # fmt: skip
"""What they print are names of files, or numbers."""


class Judge:
    """One command line; what is found in it gathers in `findings` and `paths`."""

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
        self.taken: dict[str, list[Word]] = {}
        """What a variable may hold that is read from a text of the line."""
        self.carried: dict[str, tuple[str, ...]] = {}
        """Programs whose output a variable holds."""
        self.linked: dict[str, str] = {}
        """Links that the line makes, and where they lead."""
        self.sought = False
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

    # ── from text to programs ──────────────────────────────────────────────────────────────────────────────────────

    def script(
        self, text: str, folders: tuple[str, ...], depth: int, *, elsewhere: bool = False, given: Sequence[Word] = ()
    ) -> None:
        """All commands of a text; `given` are its `$0`, `$1` and so on. Raises UnreadableLine."""
        variables = self.variables | positional([word.value for word in given], 0) if given else dict(self.variables)
        reader = LineReader(text, self.place.home, folders, variables, self.budget, depth)
        reader.read()
        commands = reader.commands
        if reader.bombs and self.commands.starter:
            self.add("deny", "command:catastrophic", "a function that starts itself without end fills the machine")
        self.sought |= any(seeks_us(one.words) for one in commands if one.words)
        self._takes(commands)
        for command in commands:
            self.simple(command, commands, depth, elsewhere)

    def _takes(self, commands: list[Simple]) -> None:
        """The words that `read` and its like may put into a variable: `while read f; do …; done <<< x`."""
        readers = [one for one in commands if one.words and one.words[0].value in ("read", "mapfile", "readarray")]
        if not readers:
            return
        around = [one for one in commands if [word.value for word in one.words] in ([], ["{"])]  # of a whole loop
        told = [word for one in (*readers, *around) for word in told_by(one, commands, self.variables)]
        words = list({word.value: word for word in told if word.known}.values())
        words.sort(key=lambda word: is_plain(word.value))  # of too many, those that matter
        names = [name.value for one in readers for name in one.words[1:]]
        ends = [at for one in around for redirect in one.redirects for at in redirect.target.inner]
        sources = [commands[at] for at in (*(at for one in (*readers, *around) for at in one.fed), *ends)]
        self.enumerated |= dict.fromkeys(names, sources)
        self.taken |= dict.fromkeys(names, words[:_MOST_TAKEN])
        files = any(one.text is None and not one.writes for command in (*readers, *around) for one in command.redirects)
        fed = tuple(program_of(commands[at]) for one in (*readers, *around) for at in one.fed if commands[at].words)
        if files or fed:
            self.carried |= dict.fromkeys(names, fed or ("read",))

    def listed(self, words: Sequence[str]) -> None:
        for word in words:
            self.budget.read(word)
        if any("\0" in word for word in words):
            raise UnreadableLine("it has a NUL character in it")
        if words:
            self.simple(Simple([Word(word, None, True) for word in words], [], [], self.place.folders), [], 0, False)

    def simple(self, command: Simple, commands: list[Simple], depth: int, elsewhere: bool) -> None:
        for name, value in (*command.assigned, *exported(command)):
            self._assigned(name, value, command, depth)
            if value.inner:
                self.enumerated[name] = [commands[at] for at in value.inner]
            if value.inner and not _PLAIN_NAME.search(name):
                self.carried[name] = printers(value, commands)
        text = input_of(command, commands)
        fed = tuple(program_of(commands[at]) for at in command.fed if commands[at].words)
        fed += tuple(program_of(commands[at]) for word in command.words for at in word.inner if commands[at].words)
        fed += tuple(program_of(commands[at]) for one in command.redirects if not one.writes for at in one.target.inner
                     if commands[at].words)  # fmt: skip
        if command.words:
            redirected = any(not one.writes and one.target.value != "/dev/null" for one in command.redirects)
            narrowed = is_narrowed(command, commands)
            for words in (*command.ways, command.words):
                run = Run(
                    basename(words[0].value), words[0], words[1:], command.folders, elsewhere, False, text, fed,
                    [word.value for word in words[1:]], redirected,
                    tuple(one for word in words[1:] if word.inner for one in printers(word, commands)),
                    carried=self._held(words) if self.carried else (), narrowed=narrowed,
                )  # fmt: skip
                if len(commands) > 1:
                    self._picked(run.program, command, commands)
                    self._prints_named(run, self._named_in(words, commands), commands)
                self.run(run, command, commands, depth)
                self._notes_written(run, command)
        for redirect in command.redirects:
            self._redirect(redirect, command, commands, elsewhere)

    def _assigned(self, name: str, value: Word, command: Simple, depth: int) -> None:
        if self.commands.starter and (kind := why_dangerous(name, value.value)):
            self.add("ask", f"command:{kind}", f"`{name}` {WHY[kind]}")
        self._says(name, value.value)
        if name.casefold().endswith("_proxy") and (address := parsed(value.value, "http")) is not None:
            self.address(address)
        if command.words and " " in value.value and is_head(value.value.split()[0], " -"):  # `CC='rm x' make`
            self._inner_code(value, Inner(), Run(name, value, [], command.folders), [], depth)
        for inner in assigned_code(name, value):
            if inner.code is not None and inner.code.known:
                self.script(inner.code.value, command.folders, depth + 1)
            elif inner.code is not None and inner.code.value == HOLE and value.known:
                self._asks("runs", f"{name}={value.value}")
        for word in parts(value):
            if "/" in word.value or word.value.startswith("."):
                self.see(word, command.folders)

    def _says(self, name: str, value: str) -> None:
        """What a variable says of the commands behind it."""
        self.production = self.production or named_production(name, value)
        self.unhooked = self.unhooked or (f"{name}={value[:40]}" if skips_hooks(name, value) else "")

    def run(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> None:
        """One program, and what it starts."""
        if depth > 12:
            raise UnreadableLine("it is nested too deeply")
        if len(run.arguments) > _MOST_WORDS:
            raise UnreadableLine("a command has too many words")
        if self._means_another(run, command, commands, depth):
            return
        allowed = self._by_pattern(run)
        self._by_line(run, command, commands, allowed)
        self._sees(run, elsewhere=run.elsewhere)
        self._addresses(run, allowed)
        if applies_patch(run):
            self._patch(run, command, commands)
        elif self.commands.starter and is_sql_client(run):
            self._sql_scripts(run, command, commands, allowed)
        self._codes(run, command, commands, depth)
        self._starts(run, command, commands, depth)

    def _by_line(self, run: Run, command: Simple, commands: list[Simple], allowed: list[Pattern]) -> None:
        """What the starter list says of a program, and of what the line does around it."""
        if run.program == "shopt":
            self.dotted |= "dotglob" in run.values and run.has("-s")
        if self.commands.starter:
            self._by_starter(run, allowed)
            if self.moved and run.program in ("rm", "shred", "unlink", "rimraf") and not self.moved.isdisjoint(
                path for word in run.arguments for path in run.wholes(word, self.place)
            ):  # fmt: skip
                self._asks("destroys", f"mv … && {run.program}")
            if run.program in KILLS and ends_us(run, self.sought):
                self._asks("guards", f"{run.program} … rightcall")
            if self.unhooked and run.program == "git" and runs_hooks(run):
                self._asks("escalates", f"{self.unhooked} git")
            for word in emptied_by(run, command, commands):
                self._empties(word, run.folders)
            if run.program in WHOLE_FOLDERS:
                self._prints_whole(run, command, commands)

    def _starts(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> None:
        """The programs and the code that a program starts."""
        inners = () if command.opened and run.program in OPENED else inner_of(run.program, run.arguments)
        for inner in (*inners, *tails(run.program, run.arguments)):
            folders = run.folders
            if inner.folder is not None:
                folders = tuple(self.place.whole(folder, inner.folder) for folder in folders)
            if inner.code is not None:
                known = inner._replace(given=()) if run.more else inner
                self._inner_code(inner.code, known, run, commands, depth)
            elif inner.words:
                words = self._completed(run, inner.words, command, commands) if inner.more else list(inner.words)
                started = Run(
                    basename(words[0].value), words[0], words[1:], folders,
                    run.elsewhere or inner.elsewhere, inner.more,
                    run.text if not inner.more else None, run.fed if not inner.more else (),
                    [word.value for word in words[1:]],
                    carried=(run.fed or ("cat",)) if inner.more and run.program not in ("find", "gfind") else (),
                    listed=inner.more and (run.program in _LISTING or (bool(run.fed) and _LISTING.issuperset(run.fed))),
                )  # fmt: skip
                if inner.more:
                    own = Simple([run.name, *run.arguments], [], [], run.folders)
                    found = [own] if run.program in FINDERS else [commands[at] for at in command.fed]
                    self._prints_named(started, found, commands)
                self.run(started, command, commands, depth + 1)

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
            for word in named_by(basename(program), values):
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

    def _means_another(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> bool:
        """Whether the name of a program is not that of one: nobody knows it, or it is a whole command."""
        name = run.name.value
        words = name.split() if " " in name else []
        if words and ((run.listed and HOLE not in words[0]) or is_head(words[0], " -")):  # `parallel 'echo {}'`
            self._inner_code(run.name, Inner(elsewhere=run.elsewhere), run, commands, depth)
            return True
        if run.program in ("", HOLE) or HOLE in run.program or (run.name.glob is not None and run.program != "["):
            self._unknown(run, commands) if not command.called else None
            return True
        if self.renamed and (meant := self.renamed.get(self.place.whole(run.folders[0], name))):
            same = Run(meant, Word(meant), run.arguments, run.folders, values=run.values)
            self.run(same, command, commands, depth + 1)
        if run.program == "env":
            for key, equals, value in (one.partition("=") for one in run.values[:50]):
                self._says(key, value) if equals else None
        if run.program in VALUED and HOLE in "".join(run.values):
            at = action_at(run.program, run.arguments)
            if at >= 0 and run.values[at].startswith(HOLE) and not command.called:
                self.add("ask", "command:unreadable", f"`{run.program} …`: what it is told to do {_CANNOT}")
        return False

    def _held(self, words: list[Word]) -> tuple[str, ...]:
        return tuple(one for word in words[1:] for name in word.names for one in self.carried.get(name, ()))

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

    def _completed(self, run: Run, words: Iterable[Word], command: Simple, commands: list[Simple]) -> list[Word]:
        """The words that `xargs` and `find -exec` add, where they can be told."""
        told: list[Word] = []
        if run.program in ("find", "gfind"):
            told = found_words(run)
        elif run.text is not None and any(one.text is not None for one in command.redirects):
            told = as_words(run.text)
        elif (listed := list_of(run)) is not None:
            told = [word for at in listed.inner if commands[at].words for word in handed_on(commands[at], {})]
            told += as_words(read_small(run, listed, self.written) or "")
        else:
            for at in command.fed:
                if commands[at].words:
                    told += handed_on(commands[at], self.variables)
        given = list(words)
        if not told and run.program in ("find", "gfind"):
            return given
        if told and any(HOLE in word.value for word in given):
            return [new for word in given for new in (told if word.value == HOLE else [word])]
        replaced = replaced_by(run)
        if not told:
            filled = [Word(word.value.replace(replaced, HOLE)) if replaced in word.value else word for word in given]
            return [*given, Word(HOLE)] if filled == given else filled
        if any(replaced in word.value for word in given):
            whole = " ".join(word.value for word in told)
            return [
                new for word in given
                for new in (
                    told if word.value == replaced
                    else [Word(word.value.replace(replaced, whole), None, True)] if replaced in word.value else [word]
                )
            ]  # fmt: skip
        return [*given, *told]

    def _unknown(self, run: Run, commands: list[Simple]) -> None:
        fetched = any(program_of(commands[at]) in FETCHERS for at in run.name.inner if commands[at].words)
        rule = "command:network" if fetched else "command:unreadable"
        self.add("ask", rule, f"`{spelled([run.name, *run.arguments])}`: which program it starts {_CANNOT}")

    def _inner_code(self, code: Word, inner: Inner, run: Run, commands: list[Simple], depth: int) -> None:
        """The code that `run` starts, in the language and the place that `inner` says."""
        fetched = any(program_of(commands[at]) in FETCHERS for at in code.inner if commands[at].words)
        if code.value == HOLE and code.inner and all(sets_up(commands[at].words) for at in code.inner):
            return
        if not code.known and not inner.elsewhere and not run.listed:
            rule = "command:network" if fetched else "command:unreadable"
            self.add("ask", rule, f"`{run.program}`: the code it runs {_CANNOT}")
            if not code.value.replace(HOLE, "").strip():
                return
        if inner.language in ("powershell", "cmd"):
            self.windows(inner.language, code.value, run.folders)
            return
        elsewhere = run.elsewhere or inner.elsewhere
        try:
            self.script(code.value, run.folders, depth + 1, elsewhere=elsewhere, given=inner.given)
        except UnreadableLine:
            if code.known:
                raise

    # ── what the policy and the starter list say ───────────────────────────────────────────────────────────────────

    def _by_pattern(self, run: Run) -> list[Pattern]:
        """The user's own lists; what `allow` says of the command comes back."""
        rules = self.commands
        if not (rules.deny or rules.ask or rules.allow):
            return []
        from rightcall.policy.commands.wrappers import compiled

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

    # ── code that is given to an interpreter ───────────────────────────────────────────────────────────────────────

    def _codes(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> None:
        if run.program in SHELLS:
            self._shell_input(run, command, commands, depth)
        elif run.program in ("source", "."):
            if run.arguments and run.arguments[0].value in STDIN:
                if not command.opened:
                    self._shell_input(run, command, commands, depth)
            else:
                self._ran_file(run, run.arguments[:1], commands)
        else:
            for code in codes(run.program, run.arguments):
                self._code(run, code, commands)
            if is_fed(run.program, run.arguments) and (run.fed or run.text is not None):
                self._interpreter_input(run)
            elif run.arguments and not run.arguments[0].value.startswith("-") and run.program not in _UNPACKS:
                self._ran_file(run, run.arguments[:1], commands)
        self._written_ones(run, depth)
        if self.brought and (name := self.brought.runs(run)) is not None:
            self._asks("network", name)
        self.brought.note(run, command)

    def _written_ones(self, run: Run, depth: int) -> None:
        if not self.written:
            return
        if "/" in run.name.value:
            self._runs_written(run, run.name, depth)
        how = interpreter(run.program)
        if run.program in SHELLS or run.program in ("source", ".") or (how is not None and not how.first):
            valued = " ".join(how.valued) if how is not None else "-o +o -O +O --rcfile"
            for word in run.operands(valued)[:1]:
                self._runs_written(run, word, depth)
            if (
                file := option_value(run.arguments, "--rcfile", "--init-file", "-r", "--require", "--import")
            ) is not None:
                self._runs_written(run, file, depth)
        elif how is not None or run.program in ("make", "gmake", "just"):
            named = option_value(run.arguments, "-f", "--file", "--makefile", "--justfile")
            if named is not None and self.place.whole(run.folders[0], named.value) in self.written:
                self._asks("runs", f"{run.program} -f {named.value}")
        for name in obeyed_files(run.program) if self.written else ():
            text = self.written.get(self.place.whole(run.folders[0], name), "")
            for recipe in recipes_in(name, text):
                self.script(recipe, run.folders, depth + 1)

    def _code(self, run: Run, code: Word, commands: list[Simple]) -> None:
        if not code.known:
            fetched = any(program_of(commands[at]) in FETCHERS for at in code.inner if commands[at].words)
            if fetched or code.value == HOLE:
                rule = "command:network" if fetched else "command:unreadable"
                self.add("ask", rule, f"`{run.program}`: the code it runs {_CANNOT}")
        self.inline(run.program, code.value, run.folders)
        if "://" in code.value:
            self.brought.files.update(
                self.place.whole(run.folders[0], text) for text, writes in composed(run.program, code.value) if writes
            )

    def inline(self, program: str, code: str, folders: tuple[str, ...]) -> None:
        """What code names: see `inline.py`."""
        self.budget.read(code)
        if self.commands.starter and (found := judged(program, code)):
            self.add("ask", f"command:{found[0]}", f"`{program}`: `{found[1]}` in its code {WHY[found[0]]}")
        if self.commands.starter and (against := guards(code)):
            self.add(against, "command:guards", f"`{program}`: `rightcall` in its code {WHY['guards']}")
        listing = enumerated_in_code(code)
        if listing is not None and (name := secret_in(listing, folders, self.place)):
            self._asks("credentials", f"{program} … {name}")
        if len(code) > LONGEST_CODE:
            self.unreadable(f"the code is longer than {LONGEST_CODE:,} characters")
        written, emptied = is_written(program, code), empties_in_code(code)
        for text in texts_in(program, code):
            if "://" in text:
                address = parsed(text, "")
                if address is not None:
                    self.address(address)
            elif _PATH_LIKE.fullmatch(text) or not is_plain(text):
                self._in_code(text, folders, written(text), emptied)
        for text, writes in composed(program, code):
            if _PATH_LIKE.fullmatch(text) or not is_plain(text):
                self._in_code(text, folders, writes, emptied)

    def _in_code(self, text: str, folders: tuple[str, ...], writes: bool, emptied: bool) -> None:
        self.see(Word(text), folders, "writes" if writes else "unknown")
        if writes and emptied:
            self._empties(Word(text), folders, seen=True)

    def _shell_input(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> None:
        """A shell without code and script runs what it reads."""
        operands = [word for word in run.operands("-o +o -O --rcfile --init-file") if not word.value.startswith("+")]
        if shell_code(run.arguments) is not None:
            return
        if operands and not run.has("-s") and not (operands[0].value in STDIN and run.text is not None):
            if operands[0].value.startswith("/dev/fd/") or operands[0].value in STDIN:
                self._fed(run, commands, [at for word in run.arguments for at in word.inner] or list(command.fed))
            else:
                self._ran_file(run, operands[:1], commands)
            return
        if run.text is not None and HOLE not in run.text:
            self.script(run.text, run.folders, depth + 1)
        elif run.fed or run.text is not None:
            self._fed(run, commands, list(command.fed))

    def _fed(self, run: Run, commands: list[Simple], sources: list[int]) -> None:
        programs = {program_of(commands[at]) for at in sources if commands[at].words} | set(run.fed)
        if programs & FETCHERS:
            self._asks("network", f"{' | '.join(sorted(programs & FETCHERS))} | {run.program}")
        else:
            self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {_CANNOT}")

    def _interpreter_input(self, run: Run) -> None:
        if run.text is not None and HOLE not in run.text:
            self.inline(run.program, run.text, run.folders)
        elif set(run.fed) & FETCHERS:
            self._asks("network", f"{run.fed[0]} | {run.program}")
        else:
            self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {_CANNOT}")

    def _ran_file(self, run: Run, words: list[Word], commands: list[Simple]) -> None:
        for word in words:
            fetching = any(program_of(commands[at]) in FETCHERS for at in word.inner if commands[at].words)
            whole = self.place.whole(run.folders[0], word.value)
            how = interpreter(run.program)
            if word.inner and all(sets_up(commands[at].words) for at in word.inner):
                continue
            if fetching or whole in self.brought.files:
                self._asks("network", f"{run.program} {word.value}".replace(HOLE, "…"))
            elif word.inner and HOLE in word.value and run.program in ("source", ".", *SHELLS):
                self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {_CANNOT}")
            elif word.inner and word.value.startswith("/dev/fd/") and how is not None and not how.first:
                text = printed(commands[word.inner[0]], {}) if len(word.inner) == 1 else None
                self._interpreter_input(Run(run.program, run.name, [], run.folders, text=text))

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
            return
        added = run.has("-a", "--append") or any(one.operator in (">>", "&>>") for one in command.redirects)
        for target in targets[:20]:
            whole = self.place.whole(run.folders[0], target.value)
            self.written[whole] = (self.written.get(whole, "") + "\n" + text if added else text)[:200_000]

    def _runs_written(self, run: Run, word: Word, depth: int) -> None:
        """A file that the line has written before it runs it."""
        whole = self.place.whole(run.folders[0], word.value)
        text = self.written.pop(whole, None)  # put back below: one that starts itself is judged once
        if text is None:
            return
        program = run.program
        if program not in SHELLS and interpreter(program) is None and program not in ("source", "."):
            shebang = re.match(r"#!\s*(\S+)(?:[ \t]+(\S+))?", text)
            named = [basename(one) for one in (shebang.groups() if shebang else ()) if one]
            program = next((one for one in reversed(named) if interpreter(one) is not None), "sh")
        if HOLE in text:
            self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {_CANNOT}")
        if interpreter(program) is not None and program not in SHELLS:
            self.inline(program, text, run.folders)
        else:
            self.script(text, run.folders, depth + 1)
        self.written[whole] = text

    def _asks(self, kind: str, words: str) -> None:
        if self.commands.starter:
            self.add("ask", f"command:{kind}", f"`{words}` {WHY[kind]}")

    # ── paths and addresses ────────────────────────────────────────────────────────────────────────────────────────

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
                self.see(word, run.folders, "reads", elsewhere=elsewhere)

    def _patch(self, run: Run, command: Simple, commands: list[Simple]) -> None:
        """The files that a patch names are written as if the command named them."""
        files = fed_files(command, commands)
        patching = patched_by(run, files, self.written)
        folders = self._folders_of(run)
        if patching.folder is not None:
            folders += tuple(self.place.whole(folder, patching.folder) for folder in run.folders)
        for path in patching.paths[: MOST_PATHS + 1]:
            self.see(Word(path), folders, "writes", elsewhere=run.elsewhere)
        wholes = {self.place.whole(run.folders[0], word.value) for word in (*files, *run.arguments)}
        if patching.unknown or not wholes.isdisjoint(self.brought.files) or set(run.fed) & FETCHERS:
            self.add("ask", "command:unreadable", f"`{run.program}`: the patch it applies {_CANNOT}")

    def _sql_scripts(self, run: Run, command: Simple, commands: list[Simple], allowed: list[Pattern]) -> None:
        """What the scripts do that a client of a database reads; of one that is not here yet its name tells, and one
        that is too large to look at may do anything."""
        for word in [*fed_files(command, commands), *sql_files(run)][:20]:
            text = read_small(run, word, self.written)
            for found in sql_rules(run.program, (text or "")[:_LONGEST_SQL]):
                self._starter(found, allowed)
            is_whole = text is not None and len(text) <= _LONGEST_SQL
            if not is_whole or (not text and is_named_dangerously(word.value)):
                self._starter(RuleHit("destroys", f"{run.program} < {word.value}"), allowed)
        if not FETCHERS.isdisjoint(run.fed):
            self._asks("network", f"{run.fed[0]} | {run.program}")
        elif not DUMPS.isdisjoint(run.fed):
            self._asks("destroys", f"{run.fed[0]} | {run.program}")

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
                    if self.linked and whole in self.linked:
                        self._note(written, self.linked[whole], use == "writes", False, elsewhere)
        if use == "reads" and self.place.holds_values(written):
            self._asks("credentials", written)
        for told in self._taken(word) if self.taken and HOLE in word.value else ():
            self.see(told, folders, use, elsewhere=elsewhere)
        if (tail := _tail_of(word)) is not None and use != "names":
            self.see(tail, (self.place.root,), use, elsewhere=elsewhere)

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
        real = whole if unknown else followed(whole)
        for path in {whole, real}:
            if is_disk(path):
                self.add("deny", "command:catastrophic", f"`{shown}`: writing to a whole disk destroys what is on it")
            elif place.is_guard(path):
                self.add("ask", "command:guards", f"`{shown}` {WHY['guards']}")
            elif not is_device(path) and place.is_started_from(path):
                self.add("ask", "command:persists", f"writing to `{shown}` {WHY['persists']}")
            elif not (unknown or place.may_be_filled(path) or is_device(path)):
                self.add("ask", "command:outside", f"`{shown}` is outside the project, and is written to")

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

    def _empties(self, word: Word, folders: tuple[str, ...], *, seen: bool = False) -> None:
        """A file is left empty; `seen`: only one that has something in it counts, since code makes new ones so."""
        for folder in folders:
            path = self.place.whole(folder, word.value)
            if not (self.place.is_made_again(path) or self.place.is_temporary(path) or is_device(path)) and (
                not seen or may_be_lost(path)
            ):
                self._asks("destroys", f"> {word.value}".replace(HOLE, "…"))

    def _here_text(self, redirect: Redirect, command: Simple) -> None:
        if not self.commands.starter or not command.words or redirect.operator != "<<<":
            return
        names = [name for name in redirect.target.names if SECRET_NAME.search(name)]
        if names:
            self._asks("credentials", f"${names[0]}")

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

    def windows(self, language: str, text: str, folders: tuple[str, ...]) -> None:
        """PowerShell and cmd: what their own reader finds."""
        from rightcall.policy.commands.words import read_windows

        self.budget.read(text)
        for words, fed in read_windows(text, language):
            self.budget.command()
            if len(words) > _MOST_WORDS:
                raise UnreadableLine("a command has too many words")
            name = Word(words[0])
            rest = [Word(word, word if re.search(r"[*?]", word) else None) for word in words[1:]]
            run = Run(basename(words[0]), name, rest, folders, values=words[1:], fed=fed)
            if HOLE in words[0]:
                self.add("ask", "command:unreadable", f"`{spelled([name])}`: which program it starts {_CANNOT}")
                continue
            allowed = self._by_pattern(run)
            if self.commands.starter:
                self._by_starter(run, allowed)
                if run.program in ("iex", "invoke-expression") and fed:
                    self._asks("network", f"{fed[0]} | {run.program}")
            self._sees(run, elsewhere=False)
            self._addresses(run, allowed)


_LONGEST_SQL = 100_000
"""Characters of a script that are looked at."""


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
