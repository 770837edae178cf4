"""Reads a command line, sees through what starts other programs, and asks the rules about each of them.

    text ─▶ shell.LineReader ─▶ simple commands ─▶ wrappers ─▶ runs ─┬─▶ patterns of the policy   deny, ask, allow
                                                                     ├─▶ starter rules            ask, rarely deny
                                                                     ├─▶ paths                    for the path rules
                                                                     └─▶ addresses                for the URL rules

Its methods raise UnreadableLine for what asks in whole; `judgement.py` says so.
"""

import re
from collections.abc import Iterable, Sequence

from rightcall.base.text import regex
from rightcall.policy.commands.actions import (
    is_sql_client,
    named_production,
)
from rightcall.policy.commands.findings import CANNOT, Findings, is_head, tails
from rightcall.policy.commands.git import (
    applies_patch,
    as_words,
    exported,
    fed_files,
    handed_on,
    input_of,
    is_narrowed,
    is_respelled,
    list_of,
    printers,
    program_of,
    read_small,
    replaced_by,
    runs_hooks,
    told_by,
)
from rightcall.policy.commands.inline import (
    LONGEST_CODE,
    codes,
    composed,
    globs_in,
    guards,
    hides_file,
    interpreter,
    is_fed,
    is_written,
    judged,
    texts_in,
    whole_texts,
)
from rightcall.policy.commands.launchers import RUNNING, inner_of, sets_up
from rightcall.policy.commands.listings import (
    FINDERS,
    WHOLE_FOLDERS,
    Listing,
    emptied_by,
    empties_in_code,
    enumerated_in_code,
    prints_all,
    secret_in,
)
from rightcall.policy.commands.network import obeyed_files, recipes_in
from rightcall.policy.commands.outputs import OUTPUT_VARIABLES
from rightcall.policy.commands.paths import (
    found_words,
    is_plain,
    parts,
)
from rightcall.policy.commands.patterns import WHY, Pattern
from rightcall.policy.commands.rules import KILLS, ends_us, seeks_us
from rightcall.policy.commands.runs import (
    FETCHERS,
    SECRET_NAME,
    SHELLS,
    VALUED,
    Run,
    action_at,
    option_value,
    skips_hooks,
    why_dangerous,
)
from rightcall.policy.commands.shell import OPENED, STDIN, LineReader, Simple, positional, printed
from rightcall.policy.commands.urls import parsed
from rightcall.policy.commands.words import HOLE, WILD, UnreadableLine, Word, basename, spelled
from rightcall.policy.commands.wrappers import (
    EDITORS,
    LINE_EDITORS,
    Inner,
    aliased,
    assigned_code,
    command_texts,
    obeys_input,
    read_editor,
    shell_code,
)

_PATH_LIKE = regex(r"[~/].*|[^\s/]+(?:/[^\s/]+)*/?(?<=[\w/])")
"""A text in code that may be a file: a path from the root on, or one word."""
_DEEPEST = 12
"""Programs that start one another."""
_MOST_TAKEN = 100
_MOST_WORDS = 5000
"""Of one command; no system starts a program with many more."""
_UNPACKS = frozenset(
    ("unzip", "tar", "gunzip", "gzip", "bunzip2", "xz", "unxz", "zstd", "7z", "unrar", "cat", "head", "tail", "less",
     "wc", "jq", "grep", "file", "ls", "stat", "sha256sum", "md5sum", "diff", "rm", "mv", "cp", "chmod", "zipinfo")
)  # fmt: skip
"""They look at what was fetched, or unpack it, and run nothing of it."""
_PLAIN_NAME = regex(r"ver|tag|arch|^os$|sha|commit|branch|port|host|url|date|^id$|_id$", re.IGNORECASE)
"""Variables that hold what stands in many addresses."""


_ENVIRONMENT = regex(r"\$\{?env:(\w{1,200})\}?(?!\w|\s*=[^=])", re.IGNORECASE)
"""A variable of the environment in PowerShell, where it is used and not set."""
_LISTING = frozenset(
    ("find", "gfind", "fd", "fdfind", "ls", "seq", "sort", "uniq", "head", "tail", "nl", "shuf")
)  # fmt: skip
"""What they print are names of files, or numbers."""


class Judge(Findings):
    """Reads one command line, and what it starts."""

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
        cuts = "".join(value.value for one in readers for name, value in one.assigned if name == "IFS")
        if cuts:
            told += [Word(piece) for word in told for piece in re.split(f"[{re.escape(cuts)}]", word.value)]
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
                    if any(is_respelled(word, commands) for word in words[1:] if word.inner) and prints_all(run):
                        self.add(
                            "ask", "command:unreadable", f"`{run.program}`: the name of the file it reads {CANNOT}"
                        )
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
        if command.words and name.casefold() in OUTPUT_VARIABLES:  # `GOBIN=/usr/local/bin go install`
            self.see(value, command.folders, "writes")
        for word in parts(value):
            if "/" in word.value or word.value.startswith("."):
                self.see(word, command.folders)

    def _says(self, name: str, value: str) -> None:
        """What a variable says of the commands behind it."""
        self.production = self.production or named_production(name, value)
        self.unhooked = self.unhooked or (f"{name}={value[:40]}" if skips_hooks(name, value) else "")

    def run(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> None:
        """One program, and what it starts."""
        if depth > _DEEPEST:
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
        named = aliased(run, self._folders_of(run), self.place.home) if run.program == "git" else ()
        for inner in (*inners, *tails(run.program, run.arguments), *named):
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
                self.add("ask", "command:unreadable", f"`{run.program} …`: what it is told to do {CANNOT}")
        return False

    def _completed(self, run: Run, words: Iterable[Word], command: Simple, commands: list[Simple]) -> list[Word]:
        """The words that `xargs` and `find -exec` add, where they can be told."""
        told: list[Word] = []
        if run.program in ("find", "gfind"):
            told = found_words(run)
        elif run.text is not None and any(one.text is not None for one in command.redirects):
            told = as_words(run.text)
        elif (listed := list_of(run)) is not None:
            told = [word for at in listed.inner if commands[at].words for word in handed_on(commands[at], {})]
            told += as_words(read_small(run.folders, listed, self.written) or "")
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
                    told if word.value == replaced and not (given and basename(given[0].value) in SHELLS)
                    else [Word(word.value.replace(replaced, whole), None, True)] if replaced in word.value else [word]
                )
            ]  # fmt: skip
        return [*given, *told]

    def _unknown(self, run: Run, commands: list[Simple]) -> None:
        fetched = any(program_of(commands[at]) in FETCHERS for at in run.name.inner if commands[at].words)
        rule = "command:network" if fetched else "command:unreadable"
        self.add("ask", rule, f"`{spelled([run.name, *run.arguments])}`: which program it starts {CANNOT}")

    def _inner_code(self, code: Word, inner: Inner, run: Run, commands: list[Simple], depth: int) -> None:
        """The code that `run` starts, in the language and the place that `inner` says."""
        fetched = any(program_of(commands[at]) in FETCHERS for at in code.inner if commands[at].words)
        if code.value == HOLE and code.inner and all(sets_up(commands[at].words) for at in code.inner):
            return
        if not code.known and not inner.elsewhere and not run.listed:
            rule = "command:network" if fetched else "command:unreadable"
            self.add("ask", rule, f"`{run.program}`: the code it runs {CANNOT}")
            if not code.value.replace(HOLE, "").strip():
                return
        if inner.language in ("powershell", "cmd"):
            self.windows(inner.language, code.value, run.folders, depth + 1)
            return
        elsewhere = run.elsewhere or inner.elsewhere
        try:
            self.script(code.value, run.folders, depth + 1, elsewhere=elsewhere, given=inner.given)
        except UnreadableLine:
            if code.known:
                raise

    # ── code that is given to an interpreter ───────────────────────────────────────────────────────────────────────

    def _codes(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> None:
        if run.program in SHELLS:
            self._shell_input(run, command, commands, depth)
        elif run.program in EDITORS:
            self._edits(run, command, commands, depth)
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

    def _edits(self, run: Run, command: Simple, commands: list[Simple], depth: int) -> None:
        """An editor that is told what to do, by its options or through its input."""
        by_line = run.program in LINE_EDITORS
        told = [] if by_line else [read_editor(text) for text in command_texts(run.arguments)]
        if obeys_input(run.program, run.arguments):
            files = [word for word in fed_files(command, commands) if word.value != "/dev/null"]
            texts = [run.text] if run.text is not None else [
                read_small(run.folders, word, self.written) or HOLE for word in files
            ]  # fmt: skip
            given = [read_editor(text, by_line=by_line) for text in texts]
            if any(HOLE in text for text in texts) or (not texts and (run.fed or run.redirected)):
                self.add("ask", "command:unreadable", f"`{run.program}`: what it is told to do {CANNOT}")
            for code in (Word(code, None, True) for one in given for code in one.codes):
                self._inner_code(code, Inner(), run, commands, depth)
            if any(one.unknown for one in given):
                self._asks("runs", f"{run.program} …")
            told += given
        for one in told:
            for path in one.reads:
                self.see(Word(path), run.folders, "reads")
            for path in one.writes:
                self.see(Word(path), run.folders, "writes")

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
                self.add("ask", rule, f"`{run.program}`: the code it runs {CANNOT}")
        self.inline(run.program, code.value, run.folders)
        if "://" in code.value:
            self.brought.files.update(
                self.place.whole(run.folders[0], text) for text, writes in composed(run.program, code.value) if writes
            )

    def inline(self, program: str, code: str, folders: tuple[str, ...]) -> None:
        """What code names: see `inline.py`."""
        self.budget.read(code)
        whole = whole_texts(program, code)
        if self.commands.starter and (found := judged(program, whole)):
            self.add("ask", f"command:{found[0]}", f"`{program}`: `{found[1]}` in its code {WHY[found[0]]}")
        if self.commands.starter and (against := guards(whole)):
            self.add(against, "command:guards", f"`{program}`: `rightcall` in its code {WHY['guards']}")
        if self.commands.starter and hides_file(program, whole):
            self.add("ask", "command:unreadable", f"`{program}`: the name of a file that its code opens {CANNOT}")
        listing = enumerated_in_code(whole)
        if listing is not None and (name := secret_in(listing, folders, self.place)):
            self._asks("credentials", f"{program} … {name}")
        if len(code) > LONGEST_CODE:
            self.unreadable(f"the code is longer than {LONGEST_CODE:,} characters")
        written, emptied = is_written(program, whole), empties_in_code(whole)
        for text in dict.fromkeys((*texts_in(program, code), *(texts_in(program, whole) if whole != code else ()))):
            if "://" in text:
                address = parsed(text, "")
                if address is not None:
                    self.address(address)
            elif _is_path_like(text):
                self._in_code(text, folders, written(text), emptied)
        for text, writes in composed(program, code):
            if _is_path_like(text):
                self._in_code(text, folders, writes, emptied)
        for text in globs_in(program, whole):
            self.see(Word(text, text if WILD.search(text) else None), folders, "reads")

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
            self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {CANNOT}")

    def _interpreter_input(self, run: Run) -> None:
        if run.text is not None and HOLE not in run.text:
            self.inline(run.program, run.text, run.folders)
        elif set(run.fed) & FETCHERS:
            self._asks("network", f"{run.fed[0]} | {run.program}")
        else:
            self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {CANNOT}")

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
                self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {CANNOT}")
            elif word.inner and word.value.startswith("/dev/fd/") and how is not None and not how.first:
                text = printed(commands[word.inner[0]], {}) if len(word.inner) == 1 else None
                self._interpreter_input(Run(run.program, run.name, [], run.folders, text=text))

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
            self.add("ask", "command:unreadable", f"`{run.program}`: the code it reads {CANNOT}")
        if interpreter(program) is not None and program not in SHELLS:
            self.inline(program, text, run.folders)
        else:
            self.script(text, run.folders, depth + 1)
        self.written[whole] = text

    # ── PowerShell and cmd ─────────────────────────────────────────────────────────────────────────────────────────

    def windows(self, language: str, text: str, folders: tuple[str, ...], depth: int = 0) -> None:
        """PowerShell and cmd: what their own reader finds."""
        from rightcall.policy.commands.windows import EMPTIES, HIDES, read_windows

        if depth > _DEEPEST:
            raise UnreadableLine("it is nested too deeply")
        self.budget.read(text)
        for named in _ENVIRONMENT.finditer(text) if self.commands.starter else ():
            if SECRET_NAME.search(named[1]):
                self._asks("credentials", f"$env:{named[1]}")
        before: list[str] = []
        children: list[str] = []
        fetched: set[str] = set()
        for words, fed in read_windows(text, language):
            self.budget.command()
            if words[0] == EMPTIES:
                self._empties(Word(words[1]), folders, seen=True)
                continue
            if words[0] == HIDES:
                self.add("ask", "command:unreadable", f"`{words[1]}`: the name of its file {CANNOT}")
                continue
            if words[0] in ("get-content", "select-string"):
                if fed[-1:] == ("get-childitem",):
                    self._prints_children(before[1:], folders)
                elif children and HOLE in words[1:]:  # `foreach ($f in gci -Force) { gc $f }`
                    self._prints_children(children[1:], folders)
            children = words if words[0] == "get-childitem" else children
            before = words
            rest = [Word(word, word if re.search(r"[*?]", word) else None) for word in words[1:]]
            run = Run(basename(words[0]), Word(words[0]), rest, folders, values=words[1:], fed=fed)
            self._windows_run(run, fetched, depth)

    def _windows_run(self, run: Run, fetched: set[str], depth: int) -> None:
        """One command; `fetched` are the files that those before it have brought from the network."""
        if len(run.values) >= _MOST_WORDS:
            raise UnreadableLine("a command has too many words")
        if HOLE in run.name.value:
            self.add("ask", "command:unreadable", f"`{spelled([run.name])}`: which program it starts {CANNOT}")
            return
        allowed = self._by_pattern(run)
        if self.commands.starter:
            self._by_starter(run, allowed)
            if run.program in ("iex", "invoke-expression") and run.fed:
                self._asks("network", f"{run.fed[0]} | {run.program}")
            if ends_us(run, sought=False):
                self._asks("guards", f"{run.program} … rightcall")
            started = (run.program, *(map(basename, run.values) if _runs_files(run) else ()))
            if not fetched.isdisjoint(started):
                self._asks("network", run.name.value)
            fetched |= _fetched_by(run)
        self._sees(run, elsewhere=False)
        self._addresses(run, allowed)
        if _runs_files(run):
            command = Simple([run.name, *run.arguments], [], [], run.folders)
            self._codes(run, command, [], depth)
            self._starts(run, command, [], depth)

    def _prints_children(self, values: list[str], folders: tuple[str, ...]) -> None:
        """`gci -Force | gc`: all that is in a folder, hidden files too."""
        options = {value.casefold() for value in values if value.startswith("-")}
        starts = tuple(value for value in values if not value.startswith("-"))
        if options & {"-filter", "-include", "-exclude"} or any(WILD.search(one) for one in starts):
            return
        listing = Listing(starts or (".",), hidden=bool(options & {"-force", "-hidden", "-fo"}))
        if name := secret_in(listing, folders, self.place):
            self._asks("credentials", f"get-childitem | get-content … {name}")


def _runs_files(run: Run) -> bool:
    return run.program in RUNNING or interpreter(run.program) is not None


def _fetched_by(run: Run) -> set[str]:
    """The names of the files that a command of Windows brings from the network."""
    if run.program in ("certutil", "bitsadmin"):
        return {basename(run.values[-1])} if run.values else set()
    if run.program not in FETCHERS and not run.program.startswith(("invoke-webrequest", "invoke-rest", "start-bits")):
        return set()
    named = zip(run.values, run.values[1:], strict=False)
    return {basename(name) for option, name in named if option.casefold() in _WRITES_FETCHED}


_WRITES_FETCHED = frozenset(("-outfile", "-o", "-out", "--output", "-destination"))


def _is_path_like(text: str) -> bool:
    plain = text.replace(HOLE, "x")
    return _PATH_LIKE.fullmatch(plain) is not None or not is_plain(plain)
