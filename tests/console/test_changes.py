"""Pull requests and changes in the console: what is done there is what was shown, by a person, and recorded first
(W-03, W-04, H-10)."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from rightcall.console.app import Console, console_running
from rightcall.console.changes import file_diffs
from rightcall.executor import Executor
from rightcall.policy.settings import Check, ConsoleSettings, Policy, WriteSettings
from rightcall.record.calls import CallFilter, CallRecord, find_calls
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, EndBody, ManualClock, Tables, encode
from support.approvals import START
from support.consoles import Answer, Browser, session
from support.desks import Project
from support.stores import NOON

CHECK = Check(command=("sh", "-c", "grep -q two app.py || { echo not two; exit 3; }"))


class World:
    """A project with an open pull request, and a console on it."""

    def __init__(
        self, project: Project, store: SqliteStore, clock: ManualClock, browsers: tuple[Browser, Browser]
    ) -> None:
        self.project = project
        self.store = store
        self.clock = clock
        self.ann, self.bob = browsers

    def form(self, page: Answer, **more: str) -> dict[str, str]:
        """What the form of a page sends, once somebody has read it."""
        self.clock.advance(2)
        names = ("drawn", "seal", "commit", "state", "approves", "digest")
        return {name: value for name in names if (value := page.field(name))} | more

    def notes(self) -> list[tuple[str, str, str]]:
        entries = self.store.look(
            lambda tables: [json.loads(one.body) for one in tables.entries() if one.kind == "change"]
        )
        return [
            (one["what"], one["by"], one["data"].get("through", ""))
            for one in entries
            if one["what"].startswith(("pr ", "undo"))
        ]


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    settings = WriteSettings(check=CHECK)
    project = Project(tmp_path, settings, within=True)
    project.branch()
    project.open(title="Say <b>\x1b[31mtwo", body="why\n\u202enot")
    clock = ManualClock(START, NOON)
    store = SqliteStore(tmp_path / ".rightcall/audit.db", clock=clock)
    policy = Policy(write=settings)
    with console_running(Console(store, lambda: policy, str(tmp_path)), ConsoleSettings(port=0)) as address:
        people = (Browser(address, session(store, "ann")), Browser(address, session(store, "bob", "look")))
        yield World(project, store, clock, people)
    store.close()


PULL, MERGE = "/changes/pulls/1", "/changes/pulls/1/merge"


def test_pull_requests_branches_and_changes_are_listed_and_shown_without_harm(world: World) -> None:
    listed, shown = world.ann.get("/changes").text, world.ann.get(PULL).text
    for part in ("fix", "Say &lt;b&gt;\\u001b[31mtwo", "a branch", "teacher"):
        assert part in listed, part
    for part in ("\\u202enot", "app.py", "0 of 1", "print(&#39;two&#39;)", world.project.tip("fix")):
        assert part in shown, part
    assert "\x1b" not in listed + shown
    assert "\u202e" not in listed + shown
    assert world.ann.get("/changes/pulls/9").status == 404
    assert world.ann.get("/changes/c-nothing").status == 404


def test_the_exact_patch_can_be_taken(world: World) -> None:
    found = world.ann.get(f"{PULL}/diff")
    assert found.text.startswith("diff --git a/app.py b/app.py\n")
    assert "attachment" in found.headers["content-disposition"]


@pytest.mark.promise("W-03", "H-10")
def test_a_review_is_of_the_commit_that_was_shown_and_is_recorded_with_the_person(world: World) -> None:
    page = world.ann.get(PULL)
    assert world.ann.post(PULL, world.form(page, act="approve")).status == 303
    (said,) = [one for one in world.project.record().discussion if one.kind == "approve"]
    assert (said.by, said.person, said.commit) == ("ann", True, world.project.tip("fix"))
    assert world.notes() == [("pr approve", "ann", "console")]
    again = world.ann.get(PULL)
    assert "has approved pull request 1" in again.text
    assert 'value="approve"' not in again.text


@pytest.mark.promise("W-03", "H-10")
@pytest.mark.parametrize("act", ["approve", "reject"])
def test_a_branch_that_moved_meanwhile_is_not_reviewed(world: World, act: str) -> None:
    form = world.form(world.ann.get(PULL), act=act, text="fine")
    world.project.commit({"app.py": "print('two, and more')\n"})
    found = world.ann.post(PULL, form)
    assert found.status == 409
    assert [one.kind for one in world.project.record().discussion] == ["opened"]


@pytest.mark.promise("H-10")
@pytest.mark.parametrize(
    "change",
    [{"seal": "0" * 64}, {"commit": "0" * 40}, {"drawn": "1"}, {"act": "nothing"}, {"seal": ""}, {"drawn": "x"}],
    ids=str,
)
def test_a_form_that_nobody_was_shown_does_nothing(world: World, change: dict[str, str]) -> None:
    found = world.ann.post(PULL, world.form(world.ann.get(PULL), act="approve") | change)
    assert found.status in (400, 409)
    assert world.notes() == []


@pytest.mark.promise("H-10")
def test_what_comes_before_anybody_could_read_does_not_count(world: World) -> None:
    page = world.ann.get(PULL)
    form = {name: page.field(name) for name in ("drawn", "seal", "commit")} | {"act": "approve"}
    assert world.ann.post(PULL, form).status == 409


@pytest.mark.promise("H-10")
@pytest.mark.parametrize("path", [PULL, MERGE])
def test_whoever_may_look_changes_nothing(world: World, path: str) -> None:
    form = world.form(world.ann.get(path), act="approve")
    assert 'method="post" action="/changes' not in world.bob.get(path).text
    assert world.bob.post(path, form).status == 403
    (change, *_) = world.project.desk.changes(1)
    assert world.bob.post(f"/changes/{change.id}", {"act": "undo"}).status == 403
    assert world.notes() == []


def test_words_are_needed_to_comment_and_to_reject_and_a_request_can_be_closed(world: World) -> None:
    page = world.ann.get(PULL)
    assert world.ann.post(PULL, world.form(page, act="comment")).status == 409
    assert world.ann.post(PULL, world.form(page, act="reject")).status == 409
    assert world.ann.post(PULL, world.form(page, act="comment", text="is it tested?")).status == 303
    assert world.ann.post(PULL, world.form(world.ann.get(PULL), act="reject", text="no")).status == 303
    assert world.ann.post(PULL, world.form(world.ann.get(PULL), act="close")).status == 303
    assert world.project.record().status == "closed"
    assert [one.kind for one in world.project.record().discussion] == ["opened", "comment", "reject", "close"]


@pytest.mark.promise("W-04", "H-10")
def test_a_merge_runs_the_checks_and_can_be_taken_back(world: World) -> None:
    before = world.project.tip()
    page = world.ann.get(MERGE)
    assert "Approve and merge" in page.text
    done = world.ann.post(MERGE, world.form(page))
    assert "Merged into main as" in done.text
    assert "<!--" not in done.text
    assert world.project.record().status == "merged"
    assert world.notes()[-2:] == [("pr merge", "ann", "console"), ("pr merged", "ann", "console")]
    (change,) = re.findall(r'href="/changes/(c-\w+)"', done.text)
    undo = world.ann.get(f"/changes/{change}")
    assert "print(&#39;one&#39;)" in undo.text
    assert world.ann.post(f"/changes/{change}", world.form(undo, act="undo")).status == 303
    assert world.project.tip() == before
    assert world.notes()[-1] == ("undo", "ann", "console")


@pytest.mark.promise("W-05")
def test_an_undo_says_what_it_did_and_what_the_state_is_now(world: World) -> None:
    (change, *_) = world.project.desk.changes(1)
    path = f"/changes/{change.id}"
    shown = world.ann.get(path)
    assert "</i>in effect</span>" in shown.text
    done = world.ann.post(path, world.form(shown, act="undo"))
    result = world.ann.get(done.location).text
    told = re.sub(r"<[^>]+>", "", result.partition('notice good" role="status"')[2].partition("</p>")[0])
    assert "Undone. ann undid" in told
    assert f"{change.summary[:4]}" in told
    assert "2 files are as they were before that change" in told
    assert f'href="{path}"' in result
    before = world.ann.get(path).text
    for words in ("This change is undone.", "ann undid it", "</i>undone</span>", f'href="{done.location}"'):
        assert words in before, words
    assert "cannot be undone" not in before
    listed = world.ann.get("/changes").text
    assert ">undone</span>" in listed
    assert f"undo of {change.id}</span>" in listed
    again = world.ann.post(done.location, world.form(world.ann.get(done.location), act="undo"))
    assert again.status == 303
    assert "so the change is in effect again" in world.ann.get(done.location).text
    assert "</i>in effect</span>" in world.ann.get(path).text


@pytest.mark.promise("W-04")
def test_red_checks_merge_nothing_and_say_why(world: World) -> None:
    world.project.commit({"app.py": "print('three')\n"})
    page = world.ann.get(MERGE)
    done = world.ann.post(MERGE, world.form(page))
    assert "Not merged" in done.text
    assert "exit status 3" in done.text
    assert world.project.record().status == "open"
    assert world.notes()[-1] == ("pr not merged", "ann", "console")


@pytest.mark.promise("W-04", "H-10")
def test_a_merge_of_something_else_than_was_shown_is_refused(world: World) -> None:
    form = world.form(world.ann.get(MERGE))
    world.project.commit({"app.py": "print('two!')\n"})
    assert world.ann.post(MERGE, form).status == 409
    assert world.ann.post(MERGE, form | {"state": "0" * 32}).status == 409
    assert world.notes() == []


@pytest.mark.promise("W-05", "H-10")
def test_an_undo_of_something_else_than_was_shown_is_refused(world: World) -> None:
    (change, *_) = world.project.desk.changes(1)
    path = f"/changes/{change.id}"
    form = world.form(world.ann.get(path), act="undo")
    assert world.ann.post(path, form | {"digest": "0" * 64}).status == 409
    assert world.ann.post(path, form | {"act": ""}).status == 400
    world.project.review("comment", "wait")
    moved = world.ann.post(path, form)
    assert moved.status in (303, 409)
    assert moved.status == 409 or world.notes() == [("undo", "ann", "console")]


def test_no_line_of_a_diff_passes_for_the_next_file() -> None:
    text = (
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n-diff --git a/y b/y\n"
        "+diff --git a/z b/z\n+@@ -1 +1 @@\ndiff --git a/w b/w\nnew file mode 100644\n"
    )
    first, second = file_diffs(text)
    assert (first.name, first.plus, first.minus, second.name) == ("x", 2, 1, "w")
    assert [one.number for one in first.lines] == [0, 1, 2, 2, 3]
    assert second.note == "new file mode 100644"


def test_a_console_on_nothing_says_so(ann: Browser) -> None:
    assert "rightcall console --root ." in ann.get("/changes").text
    assert ann.get(PULL).status == 404


def test_what_is_closed_is_listed_only_where_all_is_asked_for(world: World) -> None:
    row = 'href="/changes/pulls/1"'
    assert row in world.ann.get("/changes").text
    assert world.ann.post(PULL, world.form(world.ann.get(PULL), act="close")).status == 303
    assert row not in world.ann.get("/changes").text.partition("Branches")[0]
    assert row in world.ann.get("/changes?status=all").text
    assert row not in world.ann.get("/changes?status=all&before=1").text.partition("Branches")[0]
    assert row in world.ann.get("/changes?status=all&before=2").text


@pytest.mark.anyio
@pytest.mark.promise("W-05")
async def test_a_call_and_its_change_lead_to_each_other_and_show_what_was_changed(tmp_path: Path) -> None:
    rules = {"policy": {"write": "allow"}}
    path = "experimental/a.txt"
    async with Executor.open(root=tmp_path, policy=rules) as ex:
        for content in ("one\n", "one\ntwo\n"):
            done = await ex.run({"name": "file/save", "arguments": {"path": path, "content": content}}, caller="ada")
            assert done.ok, done.error
    store = SqliteStore(tmp_path / ".rightcall/audit.db")
    with console_running(Console(store, Policy, str(tmp_path)), ConsoleSettings(port=0)) as address:
        ann = Browser(address, session(store, "ann"))
        first, second = (one.id for one in reversed(calls_of(store)))
        shown = {number: ann.get(f"/calls/{number}").text for number in (first, second)}
        ids = {number: re.findall(r'href="/changes/(c-[0-9a-f]{8})"', page)[0] for number, page in shown.items()}
        for number, words in ((first, "+one"), (second, "+two")):
            change = ann.get(f"/changes/{ids[number]}").text
            for page in (shown[number].partition("Ran</h2>")[2], change.partition("What it changed")[2]):
                assert f"<summary><code>{path}</code>" in page
                assert words in without_tags(page)
            assert f'href="/calls/{number}"' in change
        older = ann.get(f"/changes/{ids[first]}").text
        assert f'cannot be undone: <a href="/changes/{ids[second]}">' in older
        assert "-two" in without_tags(ann.get(f"/changes/{ids[second]}").text.partition("What undoing")[2])
    store.close()


def calls_of(store: SqliteStore) -> list[CallRecord]:
    return store.look(lambda tables: find_calls(tables, CallFilter(tool="file/save")))


def without_tags(page: str) -> str:
    return re.sub("<[^>]+>", "", page)


def test_a_result_that_names_the_change_of_another_call_does_not_show_it(world: World) -> None:
    (change, *_) = world.project.desk.changes(1)

    def work(tables: Tables) -> int:
        call = tables.append("begin", 0, encode(CallBody("ada", "web/fetch", {}, "d" * 64, "allow", "stage:own")))
        tables.append("end", call, encode(EndBody("success", 1.0, summary=f"done [{change.id}]")))
        return call

    number = world.store.transact(work)
    assert f"/changes/{change.id}" not in world.ann.get(f"/calls/{number}").text
