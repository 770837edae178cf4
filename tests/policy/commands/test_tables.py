"""Command lines and addresses with the answer that a careful person would give."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.judgement import judge_command
from rightcall.policy.commands.patterns import compiled
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.words import read_lists
from support.command_lines import Desk, rows
from support.every import every

HARMLESS_ASKED = 0.05
some_and_all = pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
"""A third of the lines every day, all of them in the long tests."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", "/home/me")
        patch.delenv("TMPDIR", raising=False)
        made = Desk(tmp_path_factory.mktemp("project"))
        yield made
        made.door.close()


@pytest.mark.promise("P-16")
@some_and_all
@pytest.mark.parametrize(
    "name", ["commands", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
)
def test_every_command_has_its_answer(desk: Desk, name: str, step: int) -> None:
    table = rows(name)[::step]
    assert len(table) * step >= 200
    wrong = [
        (row["command"], row["answer"], found)
        for row in table
        if (found := desk.judge(row["command"].replace("/project", desk.root)))[0] != row["answer"]
    ]
    assert wrong == []


@pytest.mark.promise("P-16")
def test_where_a_program_is_told_to_write_counts(desk: Desk) -> None:
    answers = [(row["command"], row["answer"], desk.judge(row["command"])[0]) for row in rows("outputs")]
    assert [one for one in answers if one[1] != one[2]] == []


@pytest.mark.promise("P-16")
def test_every_line_of_the_starter_list_is_a_pattern() -> None:
    lines = [line for lines in read_lists("starter.txt").values() for line in lines]
    assert len(lines) > 500
    assert [compiled(line).text for line in lines] == lines  # one that is none raises


@pytest.mark.promise("P-16")
@some_and_all
def test_of_the_lines_that_were_held_out_none_passes_that_should_not(desk: Desk, step: int) -> None:
    table = rows("held_out")[::step]
    answers = [(row, desk.judge(row["command"])) for row in table]
    assert [row["command"] for row, found in answers if row["answer"] == "stop" and found[0] == "allow"] == []
    harmless = [(row["command"], found) for row, found in answers if row["answer"] == "allow"]
    asked = [one for one in harmless if one[1][0] != "allow"]
    assert len(asked) <= HARMLESS_ASKED * len(harmless), asked


@pytest.mark.promise("P-16")
@some_and_all
def test_everyday_lines_of_agents_keep_their_answers(desk: Desk, step: int) -> None:
    table = rows("everyday")[::step]
    assert len(table) * step >= 800
    answers = [(row["command"], row["answer"], desk.judge(row["command"])[:2]) for row in table]
    assert [one for one in answers if (one[1] == "allow") != (one[2][0] == "allow")] == []


@pytest.mark.promise("P-16")
def test_files_that_are_enumerated_and_printed_or_left_empty_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for name in (".env", "src/app.py", "README.md", "server.pem", "terraform.tfvars", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    desk = Desk(tmp_path)
    answers = [(row["command"], row["answer"], desk.judge(row["command"])[:2]) for row in rows("enumerated")]
    desk.door.close()
    assert [one for one in answers if (one[1] == "allow") != (one[2][0] == "allow")] == []


@pytest.mark.promise("P-16")
def test_what_is_printed_whole_passes_where_no_secret_is_seen(tmp_path: Path) -> None:
    for name in ("src/app.py", ".env.example", ".gitignore", "a/b/c/d/.env"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    place = Place.at(str(tmp_path))
    for line in (
        "find . -type f | xargs cat",
        "ls -A | xargs cat",
        "grep -rh '' .",
        "rg -uu ''",
        "tar cf - . | base64",
    ):
        assert judge_command(line, CommandRules(), UrlRules(), place).answer == "allow", line


@pytest.mark.promise("P-16")
def test_every_address_has_its_answer(desk: Desk) -> None:
    table = rows("urls")
    assert len(table) >= 60
    wrong = [
        (row["url"], row["answer"], found)
        for row in table
        if (found := desk.judge(row["url"].replace("project", desk.root.strip("/")), "url"))[0] != row["answer"]
    ]
    assert wrong == []


@pytest.mark.promise("P-16")
def test_an_address_means_the_same_in_a_command_and_as_an_argument(desk: Desk) -> None:
    for row in rows("urls"):
        if row["url"].isprintable() and not set(row["url"]) & set("\\ '") and "://" in row["url"]:
            url = row["url"].replace("project", desk.root.strip("/"))
            assert desk.judge(f"curl '{url}'")[0] == row["answer"], url


@pytest.mark.promise("P-16")
@every("folder", ["opt/app", "srv/site", "root/app", "tmp/try"])
def test_a_project_in_a_folder_of_the_system_is_a_project(folder: str) -> None:
    place = Place(f"/{folder}", "/home/me", (f"/{folder}",))
    lines = {"echo hi > notes.txt": [], "rm notes.txt": ["ask"], "rm -rf build": [], "echo hi > /etc/hosts": ["ask"]}
    judged = {line: judge_command(line, CommandRules(), UrlRules(), place) for line in lines}
    assert {line: [one.answer for one in found.findings] for line, found in judged.items()} == lines


TAKEN = (
    "rm -rf /tmp/*", "rm -rf /tmp/**", "rm -rf /tmp/b*", "rm -rf /tmp/box/*", "rm -rf /tmp/box/a*",
    "rm -rf /tmp/*/app", "rm -rf /tmp/[b]ox", "rm -rf /tmp/{box,x}", "rm -rf /tmp/**/app", "rm -rf /tmp/$X",
    "rm -rf /tmp/@(box|x)", "rm -rf /tmp/x/../*", "rm -rf /tmp/box/app", "rm -rf /tmp/box", "rm -rf /tmp",
    "rm -rf ../*", "chmod -R 700 /tmp/*", "find /tmp/* -delete", "find /tmp -name 'b*' -exec rm -rf {} +",
    "mv /tmp/b* /tmp/z", "mv /tmp/box/app /tmp/z", "mv ../app /tmp/z", "mv /tmp/box /tmp/z",
    "mv -t /tmp/z /tmp/box/app", "mv --target-directory=/tmp/z /tmp/box/app", "cd /tmp && mv box z",
    "mv $PWD /tmp/z",
)  # fmt: skip
LEFT = (
    "rm -rf /tmp/x", "rm -rf /tmp/x/*", "rm -f /tmp/*.log", "rm -rf /tmp/box/other", "rm -rf /tmp/x*",
    "rm -rf /tmp/box/app/build", "mv src lib", "mv /tmp/x /tmp/box/app/x", "mv -t lib src", "find /tmp/x -delete",
    "rm -rf /tmp/**/*.log",
)  # fmt: skip


@pytest.mark.promise("P-16")
def test_a_wildcard_that_stands_for_the_project_or_a_folder_above_it_asks() -> None:
    place = Place("/spare/box/app", "/home/me", ("/spare/box/app",), ("/spare",))  # as it may be with `/tmp`
    lines = {line: line.replace("/tmp", "/spare") for line in (*TAKEN, *LEFT)}
    answers = {line: judge_command(lines[line], CommandRules(), UrlRules(), place).answer for line in lines}
    assert answers == {**dict.fromkeys(TAKEN, "ask"), **dict.fromkeys(LEFT, "allow")}


@pytest.mark.promise("P-16")
def test_a_link_among_temporary_files_leads_back_into_the_project(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (tmp_path / "spare").mkdir()
    (tmp_path / "spare" / "link").symlink_to(root)
    place = Place(str(root), "/home/me", (str(root),), (str(tmp_path / "spare"),))
    lines = {"rm -rf {}/link/*": "ask", "rm -rf {}/link/src": "ask", "rm -rf {}/x/*": "allow", "rm -rf {}/*": "allow"}
    spare = str(tmp_path / "spare")
    assert lines == {
        line: judge_command(line.format(spare), CommandRules(), UrlRules(), place).answer for line in lines
    }


@pytest.mark.promise("P-16")
def test_a_command_starts_in_the_folder_that_its_host_works_in(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    place = Place.at(str(tmp_path), (str(tmp_path / "config"),))
    seen = judge_command("cat ../notes.md secrets.yaml", CommandRules(), UrlRules(), place).paths
    assert [path.whole for path in seen] == [str(tmp_path / "notes.md"), str(tmp_path / "config" / "secrets.yaml")]


@pytest.mark.promise("P-16")
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("cat pri*/a.txt", "deny"),
        ("cat */a.txt", "deny"),
        ("cat pr?vate/*", "deny"),
        ("cat /project/p*/a.txt", "deny"),
        ("cd p* && cat a.txt", "deny"),
        ("for d in p*/; do cat $d/a.txt; done", "deny"),
        ('for f in private/*; do cat "$f"; done', "deny"),
        ("cat link/../a.txt", "deny"),
        ("cd link && cat ../a.txt", "deny"),
        ("cat s*/*.py", "allow"),
        ("cat src/../README.md", "allow"),
        ('for d in */; do (cd "$d" && git status); done', "allow"),
    ],
)
def test_wildcards_in_folders_and_links_before_the_way_up_are_followed(tmp_path: Path, line: str, answer: str) -> None:
    for name in ("private/sub/x", "private/a.txt", "src/app.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("private/sub")
    desk = Desk(tmp_path, policy={"paths": {"deny": ["private/**"]}})
    try:
        assert desk.judge(line.replace("/project", desk.root))[0] == answer
    finally:
        desk.door.close()


@pytest.mark.promise("P-16")
def test_what_find_leaves_out_is_not_taken_for_what_it_finds(tmp_path: Path) -> None:
    (tmp_path / "server.pem").touch()
    (tmp_path / "node_modules").mkdir()
    place = Place.at(str(tmp_path))
    for line in (
        "find . -name '*.ts' -not -path './node_modules/*' | xargs wc -l",
        "find . -name '*.ts' ! -path '*/node_modules/*' -exec wc -l {} +",
        "find . -path ./node_modules -prune -o -name '*.ts' -print | xargs wc -l",
    ):
        seen = judge_command(line, CommandRules(), UrlRules(), place).paths
        assert not any(path.whole.endswith("server.pem") for path in seen), line


@pytest.mark.promise("P-16")
def test_a_patch_file_is_read_before_it_is_applied(tmp_path: Path) -> None:
    diff = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+y\n"
    (tmp_path / "bad.patch").write_text(diff.format("rightcall.toml"))
    (tmp_path / "good.patch").write_text(diff.format("src/app.py"))
    (tmp_path / "large.patch").write_text(diff.format("src/app.py") + " x\n" * 500_000)
    desk = Desk(tmp_path)
    lines = ("git apply {}", "git am {}", "patch -p1 < {}", "patch -p1 -i {}", "cat {} | git apply", "patch f {}")
    try:
        for name, answer in (("bad.patch", "deny"), ("good.patch", "allow"), ("large.patch", "ask")):
            found = {line: desk.judge(line.format(name))[0] for line in lines}
            assert found == dict.fromkeys(lines, answer)
    finally:
        desk.door.close()


DENIED_BY_TAIL = (
    "cat $(git rev-parse --show-toplevel)/private/x",
    "cat ~+/private/x",
    "cat ${PWD%/}/private/x",
    "cat $(dirname private/x)/x",
    "cat $PWD/private/x",
    'cat "$(git rev-parse --show-toplevel)"/priv*/x',
    'cat "$X"private/x',
    "cd $(git rev-parse --show-toplevel) && cat private/x",
    "cat src/$X/../private/x",
    "cat $(realpath private/x)",
    "cat $(readlink -f private/x)",
    "cat $(dirname $0)/private/x",
    "cp private/$(basename a/x) /tmp/z",
)
LEFT_BY_TAIL = (
    "cat $(git rev-parse --show-toplevel)/src/app.ts",
    'cat "$X/README.md"',
    "cd $(git rev-parse --show-toplevel) && cat src/app.ts",
    "cat $(find . -name '*.ts' -not -name '*.pem')",
    "echo hi > $OUT/log.txt",
    "ls ~+/src",
)


@pytest.mark.promise("P-16")
def test_a_denial_holds_where_the_beginning_of_a_path_is_not_known(tmp_path: Path) -> None:
    for name in ("private/x", "src/app.ts"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    desk = Desk(tmp_path, policy={"paths": {"deny": ["private/**"]}})
    try:
        answers = {line: desk.judge(line)[0] for line in (*DENIED_BY_TAIL, *LEFT_BY_TAIL)}
    finally:
        desk.door.close()
    assert answers == {**dict.fromkeys(DENIED_BY_TAIL, "deny"), **dict.fromkeys(LEFT_BY_TAIL, "allow")}


@pytest.mark.promise("P-16")
def test_a_search_that_is_narrowed_to_hidden_files_reads_the_secrets_among_them(tmp_path: Path) -> None:
    for name in (".env", "server.pem", "app.ts"):
        (tmp_path / name).touch()
    place = Place.at(str(tmp_path))
    lines = {
        "grep -rh '' . --include='.*'": True, "rg --hidden -g '.e*' .": True, "grep -rn foo . --include='*.ts'": False,
        "grep -rn foo . --include='*'": False, "rg foo -g '!.env'": False,
    }  # fmt: skip
    for line, reads in lines.items():
        seen = judge_command(line, CommandRules(), UrlRules(), place).paths
        assert any(path.whole.endswith((".env", ".pem")) for path in seen) == reads, line


@pytest.mark.promise("P-16")
def test_a_script_of_sql_and_a_package_of_the_project_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "node_modules" / ".bin").mkdir(parents=True)
    (tmp_path / "node_modules" / ".bin" / "our-tool").touch()
    (tmp_path / "a.sql").write_text("SELECT 1;\nDROP TABLE users;\n")
    (tmp_path / "b.sql").write_text("SELECT 1;\n")
    place = Place.at(str(tmp_path))
    lines = {
        "psql app < a.sql": "ask", "psql app -f a.sql": "ask", "sqlite3 app.db '.read a.sql'": "ask",
        "cat a.sql | mysql app": "ask", "psql app < b.sql": "allow", "npx -y our-tool": "allow",
        "npx -y their-tool": "ask",
    }  # fmt: skip
    assert lines == {line: judge_command(line, CommandRules(), UrlRules(), place).answer for line in lines}
