"""What is brought for one run, and what is put over a folder that is there."""

from pathlib import Path

import pytest

from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.judgement import judge_command
from rightcall.policy.commands.places import Place

pytestmark = pytest.mark.promise("P-16")


def answers(root: Path, lines: dict[str, str]) -> dict[str, str]:
    place = Place(str(root), "/home/me", (str(root),), ("/tmp-of-nobody",))
    return {line: judge_command(line, CommandRules(), UrlRules(), place).answer for line in lines}


BROUGHT = {
    "uv run --with left-padd python x.py": "ask", "uv run --with rich,left-padd x.py": "ask",
    "uvx --with left-padd ruff check": "ask", "uv tool run --with left-padd ruff check": "ask",
    "uv run --with rich --with 'numpy>=2' python x.py": "allow", "uv run --with PyYAML x.py": "allow",
    "uv run --with of-ours python x.py": "allow", "uv run --with ./lib python x.py": "allow",
    "uv run --with . x.py": "allow",
    "uv run pytest --with left-padd": "allow", "uv run python x.py": "allow", "uvx ruff check": "allow",
}  # fmt: skip


def test_a_package_that_is_brought_for_one_run_asks_where_nobody_knows_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["of_ours>=1"]\n')
    assert answers(tmp_path, BROUGHT) == BROUGHT


CLEARED = {
    "python -m venv --clear src": "ask", "virtualenv --clear src": "ask", "uv venv --clear src": "ask",
    "uv venv -c src": "ask", "python3.12 -m venv --clear --prompt x src": "ask",
    "python -m venv --clear env": "allow", "uv venv --clear env": "allow", "python -m venv --clear new": "allow",
    "python -m venv --clear build": "allow", "python -m venv src": "allow", "uv venv": "allow",
    "python -m venv --clear empty": "allow",
}  # fmt: skip


def test_a_folder_that_is_no_environment_is_not_cleared_unasked(tmp_path: Path) -> None:
    for name in ("src/app.py", "env/pyvenv.cfg", "build/x"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    assert answers(tmp_path, CLEARED) == CLEARED


def test_a_folder_from_outside_that_nobody_saw_or_that_holds_guards_is_not_put_over_the_project(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("root/src/app.py", "fine/a.py", "fine/src/b.py", "bad/rightcall.toml", "hooks/.git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    lines = {
        "cp -r ../none/. .": "ask", "cp -a ../bad/. ./": "ask", "rsync -a ../bad/ ./": "ask",
        "cp -R ../hooks/. .": "ask", f"rsync -a {tmp_path}/none/ {root}": "ask",
        "cp -r ../fine/. .": "allow", "rsync -a ../fine/ .": "allow",
        "cp -r ../none/. src/": "allow", "cp -r src/. lib": "allow", "cp -r src/. .": "allow",
        "rsync -an ../none/ .": "allow",
        "cp ../fine/a.py .": "allow", 'cp -r "$FROM"/. .': "allow",
    }  # fmt: skip
    assert answers(root, lines) == lines


OWNED = {
    "chown -R nobody .": "ask", "chown -R www-data:www-data $PWD": "ask", "chown -R other ..": "ask",
    "chown -R me .": "allow", 'chown -R "$USER" .': "allow", "chown -R 1000:1000 .": "allow",
    "chown -R $(id -u):$(id -g) .": "allow", "chown -R www-data storage": "allow", "chown other src": "allow",
    "chgrp -R staff .": "allow", "direnv export json": "ask", "direnv status": "allow",
    'eval "$(direnv hook bash)"': "allow", "pg_dump app > build/app.sql": "allow",
}  # fmt: skip


def test_the_project_is_not_given_away_and_its_variables_are_not_shown(tmp_path: Path) -> None:
    assert answers(tmp_path, OWNED) == OWNED
