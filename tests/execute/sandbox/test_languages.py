"""Which file runs in which language, and what runs it."""

from pathlib import Path

import pytest

from rightcall.config_hands import SandboxSettings
from rightcall.execute.sandbox.languages import file_name, job_for, language_of


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


def test_a_node_that_is_not_the_systems_is_visible_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    program = tmp_path / "v20/bin/node"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "node").symlink_to(program)
    settings = SandboxSettings(node=str(tmp_path / "node"), memory=100, visible=("/opt/data",))
    job = job_for("javascript", settings, "/scratch", "/scratch/main.js", ("x",))
    assert job.argv == (str(program), "--max-old-space-size=75", "/scratch/main.js", "x")
    assert job.visible == (str(tmp_path / "v20"), "/opt/data")
    assert (job.script, job.limits.memory) == (None, 100)
