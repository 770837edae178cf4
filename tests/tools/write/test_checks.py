"""The check command: by its whole path, over the merged files alone, with nothing left behind."""

import fcntl
import os
from pathlib import Path

import pytest

import rightcall.base.files.write as writing
from rightcall.errors import ToolFailure
from rightcall.policy.settings import Check
from rightcall.tools.write.merge import run_checks, why_red
from rightcall.tools.write.plumbing import Writer
from rightcall.tools.write.pulls import CheckRun
from support.desks import Checks, Project
from support.every import every


def checked(project: Project, checks: Checks, command: tuple[str, ...]) -> CheckRun:
    project.with_settings(check=Check(command=command, seconds=7, memory=99, processes=5, scratch=11))
    head = project.tip()
    return run_checks(project.desk, Writer(project.desk.sight), head, head, head, checks.checker())


@pytest.mark.promise("W-04")
def test_the_command_runs_where_the_merged_files_are_with_the_limits_of_the_policy_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    project, checks = Project(tmp_path), Checks()
    run = checked(project, checks, ("./run-tests", "-q"))
    (job,) = checks.jobs
    assert (run.ok, run.exit, run.tier) == (True, 0, "namespaces")
    assert job.argv == (os.path.join(job.place, "./run-tests"), "-q")
    assert job.place.startswith(os.path.join(project.desk.folder, "checks"))
    assert (job.bind, dict(job.env), job.visible) == (True, {}, ())
    limits = job.limits
    assert (limits.seconds, limits.memory, limits.processes, limits.scratch) == (7, 99, 5, 11)
    assert not os.path.exists(job.place)


@pytest.mark.promise("W-04")
def test_a_program_is_found_outside_the_root_and_made_visible_but_never_the_folder_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, checks = Project(tmp_path), Checks()
    home, environment = tmp_path / "home", tmp_path / "venv"
    for folder, name in ((home, "mytest"), (environment / "bin", "pytest"), (project.root, "evil")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (environment / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", f"{project.root}:{home}:{environment / 'bin'}:/usr/bin:/bin")
    checked(project, checks, ("mytest",))
    checked(project, checks, ("pytest",))
    checked(project, checks, ("sh", "-c", "true"))
    assert [(job.argv[0], job.visible) for job in checks.jobs] == [
        (str(home / "mytest"), (str(home / "mytest"),)),
        (str(environment / "bin/pytest"), (str(environment),)),
        ("/usr/bin/sh", ()),
    ]
    with pytest.raises(ToolFailure, match="`evil` was not found on the PATH outside the root"):
        checked(project, checks, ("evil",))
    assert os.listdir(os.path.join(project.desk.folder, "checks")) == []


@pytest.mark.promise("W-04")
def test_what_a_killed_process_left_is_removed_by_the_next_and_what_runs_is_not(tmp_path: Path) -> None:
    project = Project(tmp_path)
    left = Path(project.desk.folder, "checks", "left")
    (left / "files/deep").mkdir(parents=True)
    (left / "lock").write_text("")

    def second() -> None:
        inner = Checks()
        checked(project, inner, ("/bin/true",))
        assert os.path.exists(outer.jobs[0].place)
        assert not left.exists()

    outer = Checks(meanwhile=second)
    checked(project, outer, ("/bin/true",))
    assert os.listdir(Path(project.desk.folder, "checks")) == []


@pytest.mark.promise("W-04")
def test_a_check_that_is_just_beginning_is_not_taken_for_one_that_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path)
    seen: list[str] = []

    def others_wait(name: str) -> None:
        if name == "lock made":  # and is nobody's yet
            folder = os.open(os.path.join(project.desk.folder, "checks"), os.O_RDONLY)
            with pytest.raises(BlockingIOError):
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(folder)
            seen.append(name)

    monkeypatch.setattr(writing, "hook", others_wait)
    checks = Checks()
    checked(project, checks, ("/bin/true",))
    assert (seen, len(checks.jobs)) == (["lock made"], 1)
    assert os.listdir(Path(project.desk.folder, "checks")) == []


@pytest.mark.promise("W-04")
def test_what_was_killed_before_it_had_a_lock_is_removed_too(tmp_path: Path) -> None:
    project, checks = Project(tmp_path), Checks()
    (Path(project.desk.folder) / "checks/0123456789abcdef/files").mkdir(parents=True)  # killed before it had a lock
    checked(project, checks, ("/bin/true",))
    assert os.listdir(Path(project.desk.folder, "checks")) == []


@pytest.mark.promise("W-04")
def test_where_somebody_else_works_in_the_folder_it_lies_where_they_can_go_and_is_removed_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, checks = Project(tmp_path), Checks()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("rightcall.tools.write.merge._is_root", lambda: True)
    monkeypatch.setattr(checks, "tier", lambda: "landlock")
    name = "0123456789abcdef"
    left = tmp_path / f"rightcall-check-{name}"
    (left / "deep").mkdir(parents=True)
    kept = tmp_path / "rightcall-check-other"
    kept.mkdir()
    for one in (name, "other"):
        Path(project.desk.folder, "checks", one).mkdir(parents=True)
        Path(project.desk.folder, "checks", one, "lock").write_text("")
    checked(project, checks, ("/bin/true",))
    assert os.path.dirname(checks.jobs[0].place) == str(tmp_path)
    assert not os.path.exists(checks.jobs[0].place)
    assert not left.exists()
    assert kept.exists()  # no name that we give


@every(
    ("run", "told"),
    [
        ({"exit": 1}, "The check (make test) ended with exit status 1 after 2 s"),
        ({"exit": None}, "The check (make test) was ended by a signal after 2 s"),
        ({"exit": None, "limits": ("seconds",)}, "The check (make test) came to its limit of seconds after 2 s"),
        (
            {"exit": 127},
            "The check (make test) ended with exit status 127 after 2 s: the program was not found inside the sandbox",
        ),
    ],
)
def test_why_a_check_failed_is_one_sentence(run: dict[str, object], told: str) -> None:
    failed = CheckRun(commit="", base="", ok=False, seconds=2.0, at="", **run)  # type: ignore[arg-type]
    assert why_red(failed, ("make", "test")).removesuffix(" ([sandbox] visible names folders)") == told
