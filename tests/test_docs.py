"""What the documentation shows is what happens: every example and command is run, every link leads somewhere."""

import contextlib
import doctest
import importlib.util
import io
import json
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import rightcall
from rightcall.cli import main
from support.docs import STARTS, Block, Servers, blocks, commands, file_name, same
from support.every import every

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "examples").glob("**/*.md")),
]
NOT_RUN = ("git clone ", "cd ", "pip install ")  # what a reader does before there is anything to run
SHOWN = "shown"  # what scripts/reference.py writes
ELSEWHERE = "hosts"  # what needs a framework is run by tests_hosts/test_pages.py
NO_CURL = shutil.which("curl") is None  # Python, git and make are all that `make test` asks for
FRAMEWORKS = ["claude_sdk", "fastmcp", "langchain", "litellm", "openai_agents", "pydantic_ai", "smolagents"]
"""The adapters: each file of hosts/ that begins like that needs its framework."""


def modules(*, adapters: bool) -> list[str]:
    names = [info.name for info in pkgutil.walk_packages(rightcall.__path__, "rightcall.")]
    starts = tuple(f"rightcall.hosts.{framework}" for framework in FRAMEWORKS)
    return [name for name in names if name.startswith(starts) is adapters and not name.endswith("__main__")]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> list[Block]:
    return list(blocks(page.read_text(encoding="utf-8")))


def of_language(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in read(page) if block.language in languages]


def pages_with(*languages: str) -> pytest.MarkDecorator:
    found = [page for page in PAGES if any(block.language in languages for block in read(page))]
    return pytest.mark.parametrize("page", [pytest.param(page, marks=marks_of(page)) for page in found], ids=name_of)


def marks_of(page: Path) -> list[pytest.MarkDecorator]:
    """Every day those that one begins with; `make test-docs` reads all."""
    return [] if page.parent in (ROOT, ROOT / "docs" / "start") else [pytest.mark.long]


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as a reader has it: the examples beside him, `rightcall` and its Python on the path, no colours."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "rightcall"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom rightcall.cli import main\nsys.exit(main())\n")
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for program in (script, python):
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    browser = tmp_path / "bin" / "browser"  # in which a reader follows the link of a page
    browser.write_text(
        f"#!{sys.executable}\nimport re, sys\nfrom html import unescape\nfrom urllib.request import urlopen\n"
        "page = urlopen(sys.argv[1]).read().decode()\nurlopen(unescape(re.search(r\"href='(.*?)'\", page)[1])).read()\n"
    )
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where the settings of hosts are, and what was installed
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run_python(block: Block, names: dict[str, object], where: str) -> str | None:
    """Runs one block; returns what is wrong with it, None when its output is as stated."""
    if ">>>" in block.body:
        test = doctest.DocTestParser().get_doctest(block.body, names, where, where, block.line)
        report = io.StringIO()
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.write, clear_globs=False)
        names.update(test.globs)
        return report.getvalue() if result.failed else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.body, where, "exec"), names)  # noqa: S102  (our own documentation)
    inline = "".join(line + "\n" for line in re.findall(r"^ *#> ?(.*)$", block.body, re.MULTILINE))
    stated = block.output if block.output is not None else inline
    if same(stated, printed.getvalue()):
        return None
    return f"{where}:{block.line} prints\n{printed.getvalue()}\nbut says\n{stated}"


@pytest.mark.promise("D-02")
@pages_with("python", "py")
def test_every_python_example_runs_and_prints_what_it_says(page: Path, workshop: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    wrong: list[str] = []
    with Servers() as servers:
        for block in read(page):
            if block.language in ("python", "py") and block.info not in (ELSEWHERE, SHOWN) and not file_name(block):
                placed = block._replace(body=servers.located(block.body))
                wrong += filter(None, [run_python(placed, names, name_of(page))])
            elif block.language == "console" and block.info == "server":
                for command in commands(block):
                    servers.start(command.text)
    assert wrong == [], "\n".join(wrong)


def is_target(command: str) -> bool:
    """`make test ARGS=…` names a target of the Makefile."""
    target = next((word for word in command.split()[1:] if "=" not in word), "help")
    return bool(re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE))


QUOTED = re.compile(r"""'[^']*'|"[^"$`\\!]*\"""")
NEEDS_SHELL = re.compile(r"[|<>;&$`*?~#!\n\\{}\[\]]")


def plain_words(command: str) -> list[str]:
    """The words of a command that needs no shell to be understood, none of any other."""
    line = re.sub(r"\\\n", " ", command)
    return [] if NEEDS_SHELL.search(QUOTED.sub("", line)) else shlex.split(line)


def run_here(words: list[str]) -> str:
    """What `rightcall` prints, without a process of its own: pages have a hundred of them."""
    written = io.BytesIO()
    printed = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [shutil.which(words[0]), *words[1:]])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            main(words[1:])
    return written.getvalue().decode()


def run_command(command: str, *, here: bool = False) -> str:
    words = plain_words(command)
    if here and words[:1] == ["rightcall"]:
        return run_here(words)
    done = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
    )
    return done.stdout


@pytest.mark.promise("D-02")
@pages_with("console")
def test_every_console_example_prints_what_it_says(page: Path, workshop: Path) -> None:
    wrong: list[str] = []
    with Servers() as servers:
        for block in read(page):
            if (name := file_name(block)) is not None:
                with (workshop / name).open("a", encoding="utf-8") as file:
                    file.write(f"{servers.located(block.body)}\n\n")
            for command in (
                commands(block) if block.language == "console" and block.info not in (ELSEWHERE, SHOWN) else ()
            ):
                if command.text.startswith("make"):
                    assert is_target(command.text), f"{name_of(page)}:{command.line}: no such target"
                elif not command.text.startswith(NOT_RUN) and not (NO_CURL and command.text.startswith("curl ")):
                    text = servers.located(command.text)
                    if STARTS.match(command.text):
                        printed = servers.start(text)
                    else:  # not here beside a server: it would be read before it has written what it did
                        printed = servers.shown(run_command(text, here=not servers.started))
                    if not same(command.output, printed) or (command.output == "…" and is_usage_error(printed)):
                        wrong.append(f"{name_of(page)}:{command.line}: {command.text}\nprints\n{printed}")
    assert wrong == [], "\n".join(wrong)


def is_usage_error(printed: str) -> bool:
    """Output that `…` must not stand for: the command was written wrongly."""
    return bool(re.match(r"(rightcall|error): [^\n]*\n?(hint: [^\n]*\n?)?\Z", printed, re.DOTALL))


@pytest.mark.promise("D-02")
@pages_with("bash", "sh", "shell")
def test_every_shell_command_works(page: Path, workshop: Path) -> None:
    for block in read(page):
        if block.language not in ("bash", "sh", "shell") or block.info == SHOWN:
            continue
        lines = [line for line in re.sub(r"\\\n", " ", block.body).splitlines() if line and not line.startswith("#")]
        for line in lines:
            if line.startswith("make"):
                assert is_target(line), f"{name_of(page)}:{block.line}: {line}: no such target"
            elif not line.startswith(NOT_RUN):
                printed = run_command(line, here=True)
                assert "Traceback" not in printed, f"{name_of(page)}:{block.line}: {line}\n{printed}"
                assert "command not found" not in printed, f"{name_of(page)}:{block.line}: {line}\n{printed}"


def test_every_json_and_toml_example_is_readable() -> None:
    assert [*of_language("json"), *of_language("jsonl"), *of_language("toml")]
    for block in of_language("json"):
        json.loads(block.body)
    for block in of_language("jsonl"):
        for line in block.body.splitlines():
            json.loads(line)
    for block in of_language("toml"):
        tomllib.loads(block.body)


def test_no_example_is_in_a_language_the_tests_do_not_know() -> None:
    known = {"", "python", "py", "console", "bash", "sh", "shell", "json", "jsonl", "toml", "text"}
    languages = {
        (name_of(page), block.language) for page in PAGES for block in blocks(page.read_text(encoding="utf-8"))
    }
    assert [(page, language) for page, language in sorted(languages) if language not in known] == []


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FREE_OF_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[str]:
    yield from re.findall(r"\]\(([^)\s]+)\)", FREE_OF_CODE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.promise("D-02")
@every("page", PAGES, ids=name_of)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{name_of(page)} links to {link}"
        assert not anchor or anchor in anchors(file), f"{name_of(page)} links to {link}: no such heading"


def has_examples(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None and ">>>" in Path(spec.origin).read_text(encoding="utf-8")


@every("module", filter(has_examples, modules(adapters=False)), parts=4)
def test_every_example_in_a_docstring_is_true(module: str) -> None:
    check_docstrings(module)


def check_docstrings(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_examples_are_found_with_what_they_state() -> None:
    page = "Text\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n```console\n$ a \\\n  b\nout\n$ c 'x\ny'\n```\n"
    python, text, console = blocks(page)
    assert (python.language, python.body, python.line, python.output) == ("python", "print(1)\n", 4, "1\n")
    assert (text.language, console.output) == ("text", None)
    (file,) = blocks('```python title="agent.py"\npass\n```\n')
    assert (file.language, file_name(file), file_name(python)) == ("python", "agent.py", None)
    assert [(found.text, found.output) for found in commands(console)] == [("a \\\n  b", "out"), ("c 'x\ny'", "")]


def test_stated_output_is_compared_line_by_line_and_dots_stand_for_anything() -> None:
    assert same("a\nb\n", "a\nb")
    assert not same("a\nb\n", "a\nc")
    assert not same("a", "a\nb")
    assert same("a\n…\nz", "a\nb\nc\nz")
    assert same("took … ms", "took 3.5 ms")


def test_an_example_that_prints_something_else_is_noticed() -> None:
    assert run_python(Block("python", "", "print(1)\n#> 1\n", 1, None), {}, "page") is None
    assert run_python(Block("python", "", "print(1)\n", 1, None), {}, "page")
    assert run_python(Block("python", "", "print(1)\n", 1, "2\n"), {}, "page")
    assert run_python(Block("python", "", ">>> 1 + 1\n3\n", 1, None), {}, "page")


STORY = Path(__file__).parent.parent / "examples" / "peer_review.py"


@pytest.mark.long
@pytest.mark.promise("W-01", "W-02", "W-03", "W-04", "W-05", "X-06")
def test_a_bug_is_mended_by_three_agents_and_a_change_that_breaks_the_tests_is_not_merged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runpy.run_path(str(STORY), run_name="__main__")
    first, second = capsys.readouterr().out.split("a change that breaks the tests is not\n")
    assert "finder   code/search: totalMatches 1" in first
    assert "finder   code/execute/python: stdout 2.5 2" in first
    assert "finder   code/commit: branch fix-median, filesChanged 2" in first
    assert "reviewer code/review: id 1, decision approve, status open" in first
    assert "ann      approves code/merge of merger" in first
    assert "merger   code/merge: branch fix-median, filesChanged 2, id 1, status merged" in first
    assert "reviewer code/review: id 2, decision approve, status open" in second
    assert "merger   code/merge: The check (python3 -m unittest discover -q tests) ended with exit status 1" in second
    assert second.splitlines()[-3:] == [
        r"main: 'Merge pull request #1 from fix-median\nA median'",
        "checkout clean: True",
        "stats.py is the reviewed one: True",
    ]


PAGE = Path(__file__).parent.parent / "docs" / "reference" / "mcp.md"
ROW = re.compile(
    r"^\| ([\d-]+) \| (\w+) \| (\d+) scenarios, (\d+) checks \| (\d+) scenarios, (\d+) checks \|$", re.MULTILINE
)


@pytest.mark.promise("H-53")
def test_every_revision_is_there_in_both_ways_and_no_less_passes_through_us() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert [row[:2] for row in rows] == [
        (revision, way) for revision in ("2025-11-25", "2026-07-28") for way in ("gateway", "wrap")
    ]
    for _, _, scenarios, checks, scenarios_through, checks_through in rows:
        assert int(scenarios_through) >= int(scenarios) > 0
        assert int(checks_through) >= int(checks) > 0


def test_a_fresh_checkout_installs_all_that_is_named(tmp_path: Path) -> None:
    """As `make` says it to the shell: a comma in an argument of `$(call …)` would cut the line."""
    told = subprocess.run(
        ["make", "-n", f"VENV={tmp_path}/fresh", f"{tmp_path}/fresh/.installed"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "--editable '.[code,serve]'" in told


def test_the_balancer_is_configured_in_one_place_which_a_test_runs() -> None:
    assert [
        page.name for page in PAGES if re.search(r"^\s*(backend|http-check) ", page.read_text(), re.MULTILINE)
    ] == []
