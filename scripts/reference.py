"""Write the generated pages of the documentation: commands, policy keys, Python API, events, lint rules and examples.

    python scripts/reference.py            write docs/reference/… and docs/examples/…
    python scripts/reference.py --check    only say which pages differ; exit 1 if any does

Every line comes from the code, so that a renamed command or a new key changes its page by itself. Write explanations
into the hand-written pages, never here.
"""

import argparse
import ast
import html
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOTE = "<!-- Written by scripts/reference.py from the code. Do not edit; run `make reference`. -->\n\n"


def pages() -> dict[Path, str]:
    """Every generated page, by its file."""
    found = {
        DOCS / "reference" / "commands.md": commands(),
        DOCS / "reference" / "policy-keys.md": policy_keys(),
        DOCS / "reference" / "python-api.md": python_api(),
        DOCS / "reference" / "events.md": events(),
        DOCS / "reference" / "lint-rules.md": lint_rules(),
    }
    return found | examples()


# ── lint ──

GROUPS = {
    "RC1": "Names", "RC2": "Descriptions", "RC3": "What the text says and the schema does not", "RC4": "Schemas",
    "RC5": "Providers", "RC6": "Cost", "RC7": "Injection and secrets", "RC8": "Annotations", "RC9": "Lists that change",
}  # fmt: skip


def lint_rules() -> str:
    """Every rule of `rightcall lint`, with its examples."""
    from rightcall.lint import Rule, load_rules

    def section(rule: Rule) -> Iterator[str]:
        yield from ("", f"### {rule.id} {rule.name}", "", f"**{rule.severity}.** {rule.summary} {rule.why}", "")
        yield f"Fix: {rule.remedy}" + (" `--fix` does it." if rule.fixable else "")
        if rule.source:
            yield from ("", f"Source: <{rule.source}>, read on {rule.checked}.")
        if not rule.bad:
            return
        more = (
            f" ({rule.times} such tools)"
            if rule.times > 1
            else f" (repeated {rule.length} times)"
            if rule.length > 1
            else ""
        )
        yield from (
            "",
            f"Bad{more}:",
            "",
            f"```json\n{rule.bad.strip()}\n```",
            "",
            "Good:",
            "",
            f"```json\n{rule.good.strip()}\n```",
        )

    rules = load_rules().values()
    lines = ["# Rules of `rightcall lint`", "", NOTE.strip(), ""]
    lines += ["Look up a rule of [`rightcall lint`](lint.md): what it finds, why that matters, and the fix.", ""]
    lines += ["| rule | level | finds |", "|---|---|---|"]
    lines += [f"| [{one.id}](#{one.id.lower()}-{one.name}) | {one.severity} | {cell(one.summary)} |" for one in rules]
    for start, title in GROUPS.items():
        lines += ["", f"## {title}"]
        lines += [line for rule in rules if rule.id.startswith(start) for line in section(rule)]
    return "\n".join(lines) + "\n"


# ── commands ──


def commands() -> str:
    """Every command with its arguments and options, read from the argument parsers."""
    from rightcall.cli import COMMANDS

    lines = [
        "# Commands",
        "",
        NOTE.strip(),
        "",
        "Find every command of `rightcall` with its arguments, options and examples.",
        "[Exit codes](events.md#exit-codes) are the same for all of them.",
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| [`{name}`](#{name}) | {cell(summary)} |" for name, summary in COMMANDS.items()),
    ]
    for name in COMMANDS:
        lines += ["", f"## {name}", "", *(["Prints the version."] if name == "version" else command(name))]
    return "\n".join(lines) + "\n"


def command(name: str) -> Iterator[str]:
    from rightcall.cli.options import parser_of

    parser, _ = parser_of(name)
    samples = parser.epilog or ""
    yield fenced(inspect.cleandoc(parser.description or ""))
    yield from usage(parser)
    yield from options(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            for sub, inner in dict[str, argparse.ArgumentParser](action.choices).items():
                yield from ("", f"### {name} {sub}", "", cell(helps.get(sub, "") or ""), "")
                yield from usage(inner)
                yield from options(inner)
    if samples.strip():
        yield from ("", fenced(samples))


def usage(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Our own words: what argparse prints differs between the versions of Python."""
    words = [parser.prog]
    words += ["[options]"] if any(one.option_strings and one.dest != "help" for one in parser._actions) else []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            words.append("COMMAND")
        elif not action.option_strings:
            name = value_of(action)
            words.append(
                {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ...", "...": f"{name} ..."}.get(
                    str(action.nargs), name
                )
            )
    yield from ("", fenced(" ".join(words)))


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    rows: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        if "--help" in action.option_strings:
            continue
        value = value_of(action)
        shown = ", ".join(f"{name} {value}".strip() for name in action.option_strings) or value
        rows.append(f"| `{shown.replace('|', chr(92) + '|')}` | {cell(expanded(action, parser))} |")
    if rows:
        yield from ("", "| argument | meaning |", "|---|---|", *rows)


def value_of(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.metavar is not None:
        return " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def expanded(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """The help of an option, with `%(default)s` filled in as argparse does."""
    if not action.help:
        return ""
    return action.help % {**vars(action), "prog": parser.prog}


# ── policy keys ──

SECTION = re.compile(r"^#?\[(.+)\]$")
KEY = re.compile(r"""^(#?)([A-Za-z_][\w-]*|"[^"]+") = (.*)$""")
RULE = re.compile(r"^# ── (.*?) ─*$")


def policy_keys(text: str | None = None) -> str:
    """Every key with its default and its own meaning, read from the policy that `rightcall init` writes."""
    from rightcall.cli.init import template

    lines = [
        "# Policy keys",
        "",
        NOTE.strip(),
        "",
        "Look up a key of `rightcall.toml` with its default and its meaning. The [guide](../operate/policy.md) shows",
        "how to write a policy, and [the policy in detail](policy.md) gives ranges, rules and their order.",
    ]
    section, comment = "", list[str]()
    for line in whole_values(template() if text is None else text):
        if RULE.match(line):
            comment = []
        elif found := SECTION.match(line):
            if found[1] != section:
                section = found[1]
                said = f"{sentence(comment)}\n\n" if comment else ""
                lines += ["", f"## `[{section}]`", "", f"{said}| key | default | meaning |", "|---|---|---|"]
            comment = []
        elif found := KEY.match(line):
            if not section:
                lines += ["", "## At the top", "", "| key | default | meaning |", "|---|---|---|"]
                section, comment = "(top)", ["# The version of the file format."]
            meaning, comment = sentence(comment), []
            if not meaning:
                raise SystemExit(f"scripts/reference.py: say in cli/policy.toml what `{found[2]}` of [{section}] means")
            value = f"`{found[3]}`"
            lines.append(f"| `{found[2]}` | {f'none; for example {value}' if found[1] else value} | {cell(meaning)} |")
        elif line.startswith("#"):
            comment.append(line)
        else:
            comment = []
    return "\n".join(lines) + "\n"


def whole_values(text: str) -> Iterator[str]:
    """The lines of a TOML text, a list over several lines as one."""
    open_list = ""
    for line in text.splitlines():
        if open_list:
            open_list += " " + line.strip()
            if line.startswith("]"):
                yield re.sub(r",? \]$", "]", open_list.replace("[ ", "[", 1))
                open_list = ""
        elif line.endswith("= ["):
            open_list = line
        else:
            yield line


def sentence(comment: list[str]) -> str:
    return " ".join(line.removeprefix("#").strip() for line in comment)


# ── Python API ──

FACADES = (
    "rightcall", "rightcall.gate", "rightcall.catalog", "rightcall.policy", "rightcall.record", "rightcall.executor",
    "rightcall.models", "rightcall.router", "rightcall.mcp", "rightcall.hosts", "rightcall.batch",
)  # fmt: skip


def python_api() -> str:
    """Every public name with its signature and docstring, by package."""
    lines = [
        "# Python API",
        "",
        NOTE.strip(),
        "",
        "Look up the public names of each package. Import them from the package, not from the modules below it: a name",
        "that is missing here may change at any time.",
    ]
    for facade in FACADES:
        module = import_module(facade)
        lines += ["", f"## {facade}", "", *([f"{first(module)}", ""] if facade != "rightcall" else [])]
        for name in module.__all__:
            if not name.startswith("__") and (facade == "rightcall" or name not in import_module("rightcall").__all__):
                lines += entry(name, getattr(module, name))
        if facade != "rightcall":
            shared = [name for name in module.__all__ if name in import_module("rightcall").__all__]
            if shared:
                lines += ["Also here: " + ", ".join(f"[`{name}`](#{anchor(name)})" for name in shared) + ".", ""]
    return "\n".join(lines).rstrip() + "\n"


def anchor(name: str) -> str:
    return name.lower()


def entry(name: str, value: Any) -> Iterator[str]:
    yield from (f"### {name}", "")
    node = definition(value)
    if node is None:
        yield from (f"A value of type `{type(value).__name__}`.", "")
    elif isinstance(node, ast.ClassDef):
        yield from (fenced("\n".join(members(node)), "python"), "", *told(value))
        for method in methods(node):
            about = prose((ast.get_docstring(method) or "").split("\n\n")[0].replace("\n", " "))
            yield f"- `{signature(method)}`" + (f": {about}" if about else "")
        yield ""
    else:
        yield from (fenced(signature(node), "python"), "", *told(value))


Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def module_tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def definition(value: Any) -> ast.ClassDef | Function | None:
    """Where a name is defined. The source, not the object: what `inspect` prints differs between Pythons."""
    value = inspect.unwrap(value) if callable(value) else value
    home = sys.modules.get(getattr(value, "__module__", ""))
    if home is None or getattr(home, "__file__", None) is None or not hasattr(value, "__qualname__"):
        return None
    for node in ast.walk(module_tree(home.__file__)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == value.__qualname__:
            return node
    return None


def members(node: ast.ClassDef) -> Iterator[str]:
    """The class line, and its public fields or how it is made."""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    yield f"class {node.name}({bases})" if bases else f"class {node.name}"
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            value = f" = {ast.unparse(one.value)}" if one.value is not None else ""
            yield f"    {one.target.id}: {ast.unparse(one.annotation)}{value if len(value) < 80 else ' = …'}"
        elif isinstance(one, Function) and one.name == "__init__":
            yield f"    {signature(one)}"


def methods(node: ast.ClassDef) -> Iterator[Function]:
    yield from (one for one in node.body if isinstance(one, Function) and not one.name.startswith("_"))


def signature(node: Function) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{node.name}({ast.unparse(node.args)}){returns}"


def told(value: Any) -> Iterator[str]:
    """The docstring: prose as it is, examples and drawings fenced."""
    for block in re.split(r"\n\s*\n", inspect.getdoc(value) or ""):
        if not block.strip() or (inspect.isclass(value) and block.startswith(f"{value.__name__}(")):
            continue
        if block.lstrip().startswith(">>>") or block.startswith("    "):
            yield from (fenced(block, "python"), "")
        else:
            yield from (prose(block), "")


def first(value: Any) -> str:
    """The first sentence or paragraph of a docstring, on one line."""
    return prose((inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " "))


def prose(text: str) -> str:
    """Text of a docstring as Markdown: angle brackets and brackets outside of code mean themselves."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(
        part if n % 2 else html.escape(part, quote=False).replace("[", "\\[").replace("_", "\\_").replace("*", "\\*")
        for n, part in enumerate(parts)
    )


# ── events, exit codes, environment ──

VARIABLES = {
    "RIGHTCALL_POLICY": "The policy file that Agent Zero's extension uses.",
    "RIGHTCALL_TOKEN": "The token that `rightcall serve` and `rightcall proxy` ask for; without it they make one.",
    "XDG_STATE_HOME": "Where installed integrations and trusted files are remembered; else `~/.local/state`.",
    "XDG_CACHE_HOME": "Where caches are kept; else `~/.cache`.",
    "XDG_RUNTIME_DIR": "Where short-lived sockets are put.",
    "HOME": "The home folder, for the settings of hosts.",
    "NO_COLOR": "Any value turns colours off.",
    "FORCE_COLOR": "Any value but 0 turns colours on where the output is not a terminal.",
    "COLUMNS": "The width of reports on a terminal.",
    "TMPDIR": "Where temporary files are put.",
    "PATH": "Where programs such as `git` and `node` are found.",
    "LOCALAPPDATA": "Where state is kept on Windows.",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "How telemetry is sent, `http/protobuf` or `grpc`; it follows the other `OTEL_*` "
    "variables too: [telemetry](../operate/telemetry.md).",
    "PGSERVICE": "Names the server of a PostgreSQL store, whose certificate is verified.",
    "OTEL_RESOURCE_ATTRIBUTES": "May name the service in telemetry; else `rightcall`.",
}
READ = re.compile(
    r"""environ(?:\.get\(|\[)\s*["']([A-Z_]+)["']|["'](NO_COLOR|FORCE_COLOR|RIGHTCALL_(?:TOKEN|POLICY))["']"""
)


def variables() -> set[str]:
    """Names of environment variables that the package reads by a plain name."""
    found: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        if "sandbox/inside" not in file.as_posix():
            found.update(a or b for a, b in READ.findall(file.read_text(encoding="utf-8")))
    return found


def events() -> str:
    """Events of the gate, kinds of records, problem codes, exit codes and environment variables."""
    from rightcall.cli.help import EXIT_CODES
    from rightcall.policy.types import DecisionKind
    from rightcall.record.tables import EntryKind
    from rightcall.types import Effect, Event, Mode, StrategyName

    read = variables()
    if missing := read - VARIABLES.keys():
        raise SystemExit(f"scripts/reference.py: say what these environment variables mean: {sorted(missing)}")
    lists = (
        ("Kinds of audit records", EntryKind, "What each holds: [the audit log](audit.md#kinds-of-records)."),
        ("Decisions", DecisionKind, "What a policy decides for one call."),
        ("Effects", Effect, "What a tool does."),
        ("Modes", Mode, "What the gate does with a call that does not fit its tool."),
        ("Repair strategies", StrategyName, "How the arguments of a call were read."),
    )
    lines = [
        "# Events, exit codes, environment",
        "",
        NOTE.strip(),
        "",
        "Look up the fixed words of RightCall: events, codes and variables that programs depend on.",
        "",
        "## Events",
        "",
        first(Event),
        "",
        "| field of an event | type |",
        "|---|---|",
        *(f"| `{name}` | `{kind}` |" for name, kind in annotations(Event)),
    ]
    for title, words, about in lists:
        lines += ["", f"## {title}", "", about, "", ", ".join(f"`{word}`" for word in get_args(words))]
    lines += ["", "## Problem codes", "", "Why a call is refused.", "", "| code | meaning |", "|---|---|"]
    lines += [f"| `{code}` | {cell(why)} |" for code, why in problem_codes()]
    lines += ["", "## Exit codes", "", fenced(EXIT_CODES.partition("\n")[2])]
    lines += ["", "## Environment", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {cell(VARIABLES[name])} |" for name in VARIABLES if name in read]
    return "\n".join(lines) + "\n"


def annotations(record: type) -> Iterator[tuple[str, str]]:
    for name, kind in inspect.get_annotations(record).items():
        yield name, (kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))).replace("|", "\\|")


def problem_codes() -> Iterator[tuple[str, str]]:
    """The codes with the comment beside each in types.py."""
    source = (ROOT / "src" / "rightcall" / "types.py").read_text(encoding="utf-8")
    inside = source.partition("ProblemCode = Literal[")[2].partition("\n]")[0]
    return iter(re.findall(r'^    "(\w+)",(?:  # (.*))?$', inside, re.MULTILINE))


# ── examples ──

ORDER = (
    "wrap_a_function", "check_a_call", "text_only_model", "proxy_client", "streaming", "repair_training_set",
    "own_tools", "mytools", "tool_loop", "router_agent", "pydantic_ai_agent", "langchain_agent", "openai_agents_agent",
    "claude_sdk_agent",
    "fastmcp_server", "litellm_callback", "smolagents_agent", "debug_room", "peer_review", "shop", "protected_server",
)  # fmt: skip


def examples() -> dict[Path, str]:
    """A page for each program of examples/, and their index."""
    files = {file.stem: file for file in sorted((ROOT / "examples").glob("*.*")) if file.suffix in (".py", ".sh")}
    if set(files) != set(ORDER):
        raise SystemExit(f"scripts/reference.py: give these examples a place: {sorted(set(files) ^ set(ORDER))}")
    found: dict[Path, str] = {}
    index = ["# Examples", "", NOTE.strip(), "", "Run a complete program that does what you need, then change it."]
    index += ["Each one runs in a checkout after `make run`.", "", "| example | what it shows |", "|---|---|"]
    for stem in ORDER:
        file = files[stem]
        about, run = introduction(file)
        name = stem.replace("_", "-")
        index.append(f"| [{file.name}]({name}.md) | {cell(about)} |")
        body = f"# {file.name}\n\n{NOTE}{about}\n\n{fenced(run)}\n\n" if run else f"# {file.name}\n\n{NOTE}{about}\n\n"
        source = file.read_text(encoding="utf-8")
        found[DOCS / "examples" / f"{name}.md"] = (
            body + fenced(source, "python" if file.suffix == ".py" else "sh") + "\n"
        )
    found[DOCS / "examples" / "index.md"] = "\n".join(index) + "\n"
    return found


def introduction(file: Path) -> tuple[str, str]:
    """What an example says of itself, and how it is run."""
    source = file.read_text(encoding="utf-8")
    if file.suffix == ".sh":
        comment = [line.lstrip("# ").strip() for line in source.splitlines()[1:] if line.startswith("#")]
        return " ".join(comment[:2]) or file.name, f"sh examples/{file.name}"
    about, _, run = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    return about.replace("\n", " "), run.strip()


# ── writing ──


def fenced(text: str, language: str = "text") -> str:
    """A block that tests do not run: the code behind it is tested as such."""
    return f"```{language}{'' if language == 'text' else ' { .shown }'}\n{text.strip(chr(10)).rstrip()}\n```"


def cell(text: str) -> str:
    """Text inside a table."""
    return prose(" ".join(text.split())).replace("|", "\\|")


def stale(found: dict[Path, str]) -> list[Path]:
    """Pages that are missing, differ, or have no source any more."""
    known = [*(DOCS / "examples").glob("*.md")]
    wrong = [file for file, text in found.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]
    return sorted({*wrong, *(set(known) - set(found))})


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page differs")
    options = parser.parse_args(list(arguments))
    found = pages()
    wrong = stale(found)
    for file in wrong:
        print(f"{'differs' if options.check else 'wrote'}: {file.relative_to(ROOT)}")
        if not options.check:
            if file in found:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(found[file], encoding="utf-8")
            else:
                file.unlink()
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
