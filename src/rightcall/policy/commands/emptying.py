"""Files that a command leaves empty: what is written into them is nothing, or what stood there is not written again.

`: > f`, `tee f < /dev/null`, `rsync /dev/null f`, `gawk -i inplace '{}' f` and `open('f', 'w')` are one thing.
"""

import os
import re
from collections.abc import Iterator
from itertools import pairwise

from rightcall.base.files.rules import is_source
from rightcall.base.text import regex
from rightcall.policy.commands.inline import codes
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import RuleHit, Run, writes_to
from rightcall.policy.commands.shell import Redirect, Simple, printed
from rightcall.policy.commands.words import HOLE, Word, basename

_NOTHING = "/dev/null"
_SILENT = frozenset((":", "true", "false"))
_COPIES = frozenset(("cat", "tac", "head", "tail", "sort", "uniq", "tee", "sponge", "nl", "rev", "dd"))
"""What they print is what they read."""
_NO_LINES = regex(r"-[cn]0|--(?:bytes|lines)=0")
_SILENT_AWK = regex(r"\s*(?:(?:BEGIN|END)?\s*\{(?:(?!print|getline)[^{}])*\}\s*|0\s*)*")
_OPENS = regex(
    r"\bopen\w*\(|\.open\(|fopen\(|write_text\(|write_bytes\(|writeFile\w*\(|File\.(?:write|open)\(|truncate"
)
_PUTS = regex(
    r"(?<!File)\.write(?:lines|_text|_bytes)?\((?!\s*b?(['\"])\1\s*\))|\bdump\w*\(|\bprint\w*\W|\bputs\b|<<"
    r"|writeFile\w*\([^,]+,(?!\s*(['\"`])\2\s*[,)])|File\.write\([^,]+,(?!\s*(['\"])\3\s*\))|fwrite|fputs"
    r"|savefig|to_\w+\(|copyfileobj|extract|download|retrieve|serialize|save\w*\("
)
"""Something is put into a file, and not an empty text."""


def prints_nothing(command: Simple, commands: list[Simple]) -> bool:
    """Whether what a command prints is known to be nothing."""
    if not command.words:
        return True
    program, *values = [word.value for word in command.words]
    if program in _SILENT:
        return True
    if program in ("echo", "printf"):
        return printed(command, {}) == ""
    if basename(program) not in _COPIES:
        return False
    if program in ("head", "tail") and _is_cut_to_nothing(values):
        return True
    files = [one for one in values if not one.startswith("-")] if program not in ("tee", "sponge") else []
    return all(one == _NOTHING for one in files) if files else reads_nothing(command, commands)


def _is_cut_to_nothing(values: list[str]) -> bool:
    return any(_NO_LINES.fullmatch(one) for one in values) or any(
        before in ("-c", "-n") and after == "0" for before, after in pairwise(values)
    )


def reads_nothing(command: Simple, commands: list[Simple]) -> bool:
    """Whether what a command reads is known to be nothing."""
    for one in reversed(command.redirects):
        if not one.writes:
            return (one.text is not None and not one.text.strip()) or one.target.value == _NOTHING
    return bool(command.fed) and prints_nothing(commands[command.fed[-1]], commands)


def is_emptied_by(redirect: Redirect, command: Simple, commands: list[Simple]) -> bool:
    """`> f` behind a command that prints nothing."""
    return redirect.operator in (">", ">|", "&>") and prints_nothing(command, commands)


def emptied_by(run: Run, command: Simple, commands: list[Simple]) -> list[Word]:
    """The files among its words that a command leaves empty."""
    if run.program in ("tee", "sponge"):
        added = run.has("-a", "--append")
        return writes_to(run) if not added and reads_nothing(command, commands) else []
    if run.program == "rsync":
        return writes_to(run) if _NOTHING in run.values[:-1] else []
    if run.program in ("awk", "gawk"):
        scripts = [code.value for code in codes(run.program, run.operands("-i -v -F -f"))]
        return writes_to(run) if scripts and all(_SILENT_AWK.fullmatch(one) for one in scripts) else []
    return []


def empties_in_code(code: str) -> bool:
    """Whether code opens files to write and puts nothing into them."""
    return _OPENS.search(code) is not None and _PUTS.search(code) is None


def may_be_lost(path: str) -> bool:
    """Whether there is something in a file; one in a folder that we do not see may be anywhere."""
    try:
        return os.stat(path).st_size > 0
    except (OSError, ValueError):
        return not os.path.isdir(os.path.dirname(path))


def link_rules(run: Run, place: Place) -> Iterator[RuleHit]:
    """`ln -f` in the place of a file with something in it, or of source that would lead out of the project."""
    operands = run.operands("-t -S --target-directory --suffix")
    if len(operands) != 2 or not run.has("-f", "--force"):
        return
    for folder in run.folders:
        link, to = (place.whole(folder, word.value) for word in reversed(operands))
        leads_out = run.has("-s", "--symbolic") and not place.is_inside(to) and is_source(os.path.basename(link))
        replaced = os.path.isfile(link) and not os.path.islink(link) and may_be_lost(link)
        if (leads_out or replaced) and not (place.is_made_again(link) or place.is_temporary(link)):
            yield RuleHit("destroys", re.sub(HOLE, "…", f"ln -f … {operands[1].value}"))
            return
