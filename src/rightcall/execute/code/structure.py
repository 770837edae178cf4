"""The structure of a source file: what it imports, defines and exports, and in which lines. The parser is optional,
and works in a program of its own."""

import os
import sys
from importlib.machinery import PathFinder

from msgspec import DecodeError, Struct, json

from rightcall.errors import ToolFailure
from rightcall.execute.code.languages import language_of
from rightcall.execute.code.structure_outline import Node, Structure, outline
from rightcall.execute.code.structure_tables import GRAMMARS, Grammar

_MOST_NODES = 1_000
_SECONDS = 3
_MOST_ANSWER = 16 << 20
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "structure_worker.py")
_MISSING = 'no structure: its parser is not installed; pip install "rightcall[code]" brings it'


class _Answer(Struct, frozen=True):
    nodes: list[Node]
    more: bool


def structure_of(text: str, path: str) -> tuple[Structure | None, str | None]:
    """The structure, or why there is none."""
    language = language_of(path, text)
    if language is None:
        return None, "no structure: not a language whose structure is known"
    installed = _installed()
    if installed is None:
        return None, _MISSING
    grammar = GRAMMARS[language]
    answer = _ask_worker(text, language, grammar, installed)
    if answer is None:
        return None, "no structure: the file could not be parsed within the limits of time and memory"
    return outline(language, grammar, answer.nodes, answer.more), None


def has_parser() -> bool:
    """Whether structures can be told here at all."""
    return _installed() is not None


def _installed() -> str | None:
    """The folder with the parser. The current folder does not count, where Python would look for it too: it may be the
    very one that is looked at."""
    try:
        here = os.path.realpath(os.curdir)
    except OSError:  # it has been removed: then nothing can be found in it
        here = ""
    places = [place for place in sys.path if os.path.isabs(place) and os.path.realpath(place) != here]
    found = PathFinder.find_spec("ast_grep_py", places)
    return None if found is None or found.origin is None else os.path.dirname(os.path.dirname(found.origin))


def _ask_worker(text: str, language: str, grammar: Grammar, installed: str) -> _Answer | None:
    from rightcall.execute.code.process import Program, run_program

    exports = [kind for kind, role in grammar.roles.items() if role == "export"]
    question = {
        "language": language, "rules": grammar.rules, "exports": exports, "most": _MOST_NODES, "source": text
    }  # fmt: skip
    command = [sys.executable, "-I", "-S", "-B", _WORKER, installed, str(_SECONDS)]
    try:
        program = Program(command, env={}, cwd="/", stdin=json.encode(question), threads=1)
        done = run_program(program, seconds=_SECONDS, most=_MOST_ANSWER)
        return json.decode(done.out, type=_Answer) if done.code == 0 else None
    except (ToolFailure, DecodeError):
        return None
