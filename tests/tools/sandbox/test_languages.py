"""Which file runs in which language, and what runs it."""

import shutil
from pathlib import Path

import pytest

from rightcall.policy.settings import SandboxSettings
from rightcall.tools.sandbox.conversation import file_name, job_for, language_of
from support.every import every


@every(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("b/A.PY", "python"),
        ("a.mjs", "javascript"),
        ("a.js.txt", None),
        ("py", None),
        (".py", None),
    ],
)
def test_a_language_is_known_by_a_files_ending(path: str, language: str | None) -> None:
    assert language_of(path) == language


@every(
    ("code", "name"),
    [
        ("console.log(1)", "main.js"),
        ("const fs = require('fs')", "main.js"),
        ("import fs from 'fs'", "main.mjs"),
        ("import 'node:fs'", "main.mjs"),
        ("import { a } from './a.mjs'", "main.mjs"),
        ("import* as fs from 'fs'", "main.mjs"),
        ("export const a = 1", "main.mjs"),
        ("const a = await f()", "main.mjs"),
        ("await f()", "main.mjs"),
        ("// x\nawait f(); const fs = require('fs')", "main.js"),
        ("import('fs').then(console.log)", "main.js"),
        ("async function f() {\n  await g()\n}", "main.js"),
    ],
)
def test_javascript_is_a_module_where_it_is_written_as_one(code: str, name: str) -> None:
    assert file_name("javascript", code) == name


def test_a_name_that_is_taken_is_not_used() -> None:
    assert file_name("python", "import x", frozenset(("main.py", "_main.py"))) == "__main.py"


def node_in(prefix: Path) -> str:
    program = prefix / "bin/node"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.promise("X-06")
def test_a_node_that_is_not_the_systems_is_visible_with_what_belongs_to_it(tmp_path: Path) -> None:
    program = node_in(tmp_path / "v20")
    packages = tmp_path / "v20/lib/node_modules"
    (packages / "npm").mkdir(parents=True)
    (tmp_path / "node").symlink_to(program)
    settings = SandboxSettings(node=str(tmp_path / "node"), memory=100, visible=("/opt/data",))
    job = job_for("javascript", settings, "/scratch", "/scratch/main.js", ("x",))
    assert job.argv == (program, "--max-old-space-size=75", "/scratch/main.js", "x")
    assert job.visible == (program, str(packages), "/opt/data")
    assert (job.script, job.limits.memory) == (None, 100)


@pytest.mark.promise("X-06")
@pytest.mark.parametrize("owned", ["home", "the folder of work", "nothing that proves it"])
def test_what_lies_beside_a_node_is_not_made_visible(
    owned: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = node_in(tmp_path)
    (tmp_path / "lib/node_modules").mkdir(parents=True)
    if owned == "home":
        monkeypatch.setenv("HOME", str(tmp_path))
    if owned == "the folder of work":
        monkeypatch.chdir(tmp_path)
    if owned != "nothing that proves it":
        (tmp_path / "include/node").mkdir(parents=True)
    job = job_for("javascript", SandboxSettings(node=program), "/scratch", "/scratch/main.js")
    assert job.visible == (program,)


def test_a_program_brings_its_own_libraries_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = node_in(tmp_path)
    library = tmp_path / "libnode.so.1"
    library.touch()
    ldd = tmp_path / "ldd"
    lines = f"\tlibc.so.6 => /lib/libc.so.6 (0x0000ffff)\n\tlibnode.so.1 => {library} (0x0000ffff)\n"
    ldd.write_text(f"#!/bin/sh\nprintf '%b' '{lines}'\n")
    ldd.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name, path="": str(ldd) if name == "ldd" else name)
    job = job_for("javascript", SandboxSettings(node=program), "/scratch", "/scratch/main.js")
    assert job.visible == (program, str(library))
