"""Several workers as one server: real processes at one socket."""

import contextlib
import itertools
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import json

from rightcall.server.workers.parent import FOLDER, HANGING
from support import postgres, tool_server
from support.cli import Runner, environment, start, write_trusted
from support.proxies import request
from support.workers import Server, lives, serving_with, with_server

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="workers are found through /proc"),
    pytest.mark.xdist_group("workers"),
    pytest.mark.promise("H-03", "H-04", "S-03"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def started(folder: Path) -> Iterator[Server]:
    with serving_with(folder, 2, "--policy", with_server(folder), "--quiet") as found:
        yield found


@pytest.fixture
def server(started: Server) -> Iterator[Server]:
    yield started
    started.hang_up()


def text_of(got: Any) -> str:
    return got.json["result"]["content"][0]["text"]


def first_free(process: int) -> int:
    """The number that its next open file would have."""
    opened = set(map(int, os.listdir(f"/proc/{process}/fd")))
    return next(number for number in itertools.count() if number not in opened)


def logged(folder: Path) -> str:
    return (folder / "stderr").read_text()


def test_each_worker_serves_its_share_and_the_figures_are_what_the_clients_counted(server: Server) -> None:
    before = server.counted()
    connections = server.connections(10)
    shares = [sum(one.worker == name for one in connections) for name in {one.worker for one in connections}]
    assert sorted(shares) == [5, 5]
    for one in connections:
        for _ in range(4):
            assert one.get("/v1/models").status == 200
        one.close()
    assert server.counted() - before == 40


def test_a_session_is_found_from_every_worker_and_its_server_runs_once(server: Server, folder: Path) -> None:
    before = len(tool_server.starts(folder))  # others have asked with other abilities, and so another process
    first, second = server.at_each().values()
    session = first.initialize()
    assert session.startswith(f"{first.worker}.")
    for one in (first, second, first, second):
        assert text_of(one.call("tools_echo", {"text": one.worker}, session)) == one.worker
    assert len(tool_server.starts(folder)) <= before + 1
    assert second.delete(session).status == 200
    assert first.call("tools_echo", {"text": "gone"}, session).status == 404


def test_a_connection_goes_to_the_worker_that_has_what_it_asks_for(server: Server) -> None:
    first, second = server.at_each().values()
    mine, theirs = first.initialize(), second.initialize()
    large = "ä" * 700_000  # in many pieces
    assert text_of(second.call("tools_echo", {"text": large}, mine)) == large
    assert second.get("/health").json["worker"]["name"] == first.worker
    for session in (theirs, mine, theirs):
        assert text_of(second.call("tools_echo", {"text": session}, session)) == session
    assert second.get("/health").json["worker"]["name"] != first.worker


def test_who_asks_twice_at_once_at_another_worker_is_told_to_ask_again(server: Server) -> None:
    first, second = server.at_each().values()
    session = first.initialize()
    where = urlsplit(server.url)
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    head = f"POST {where.path}/mcp HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-length: {len(body)}\r\n"
    asked = f"{head}accept: application/json\r\nmcp-session-id: {session}\r\n\r\n".encode() + body
    told = second.say(asked + asked)
    assert told.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert (b"connection: close" in told, told.count(b"HTTP/1.1")) == (True, 1)
    assert text_of(first.call("tools_echo", {"text": "asked again"}, session)) == "asked again"


def post(server: Server, session: str, text: str, path: str = "/mcp", more: str = "") -> bytes:
    """A call of `echo`, as it is sent."""
    where = urlsplit(server.url)
    params = {"name": "tools_echo", "arguments": {"text": text}}
    body = json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = f"POST {where.path}{path} HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}accept: application/json\r\nmcp-session-id: {session}\r\n{more}\r\n".encode() + body


@pytest.mark.parametrize(
    ("path", "more", "interim"), [("/mc%70", "", 0), ("/mcp?x", "", 0), ("/mcp", "expect: 100-continue\r\n", 1)]
)
def test_a_connection_goes_over_however_its_request_is_written(
    server: Server, path: str, more: str, interim: int
) -> None:
    first, second = server.at_each().values()
    asked = post(server, first.initialize(), path + more, path, f"{more}connection: close\r\n")
    told = second.say(asked)
    assert (told.count(b"HTTP/1.1 100 Continue"), told.count(b"HTTP/1.1 200 OK")) == (interim, 1)


@pytest.mark.long
def test_what_was_given_away_takes_no_memory(server: Server) -> None:
    first, second = server.at_each().values()
    sessions = [first.initialize(), second.initialize()]
    large, sizes = "x" * 10_000_000, list[int]()
    for _ in range(3):
        for session in sessions * 5:
            assert first.call("tools_echo", {"text": large}, session).status == 200  # more than a call may have
        sizes.append(sum(map(resident, server.worker_pids())))
    assert sizes[2] - sizes[0] < 5 * len(large)


@pytest.mark.parametrize("session", ["w99.abc", "w0.", "nothing", "../w1.abc"])
def test_a_session_whose_worker_is_gone_is_told_as_the_specification_says(server: Server, session: str) -> None:
    got = server.connect().call("tools_echo", {"text": "x"}, session)
    assert (got.status, got.json["error"]["message"]) == (404, "Session not found")


def test_a_session_is_its_callers_at_every_worker(server: Server, folder: Path, run: Runner) -> None:
    made = run("token", "new", "--as", "teacher", "--json", "--policy", str(folder / "rightcall.toml")).json
    own = server.at_each()
    session = next(iter(own.values())).initialize()
    stranger = made["urls"]["anthropic"]
    body = json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    told = {"mcp-session-id": session, "content-type": "application/json"}
    answers = [request("POST", stranger, "/mcp", body, told).status for _ in range(6)]
    assert answers == [404] * 6


def test_a_question_may_be_answered_at_another_worker(server: Server) -> None:
    first, second = server.at_each().values()
    able = {"elicitation": {"form": {}}}
    asked = first.call_alone("tools_save", {"text": "x"}, able).json["result"]
    assert asked["resultType"] == "input_required"
    (key,) = asked["inputRequests"]
    said = {key: {"action": "decline"}}
    more: dict[str, Any] = {"requestState": asked["requestState"], "inputResponses": said}
    got = second.call_alone("tools_save", {"text": "x"}, able, **more)
    assert got.status == 200
    assert got.json["result"]["isError"], "it was declined, and so it was not run"
    again = first.call_alone("tools_save", {"text": "x"}, able, **more)
    assert again.json != got.json, "the state counts once"


@pytest.mark.promise("P-14")
def test_what_a_server_logs_of_a_call_reaches_no_client_of_another_worker(server: Server) -> None:
    first, second = server.at_each().values()
    mine, theirs = first.initialize(), second.initialize()
    listening = server.connect()
    stream = listening.listen(theirs)
    assert b"log my secret" in first.call("tools_echo", {"text": "log my secret"}, mine).body
    own = second.call("tools_echo", {"text": "log theirs"}, theirs).body  # behind what was logged before
    assert (own.count(b"log theirs"), b"secret" in own) == (2, False)
    assert second.delete(theirs).status == 200
    assert b"secret" not in stream.read()


def test_balancers_are_told_without_a_token_and_nothing_secret(server: Server) -> None:
    for path, status in (("/health/live", "ok"), ("/health/ready", "ready")):
        got = request("GET", server.told["address"], path)
        assert (got.status, got.json) == (200, {"status": status})


def test_the_console_knows_its_visitors_at_every_worker(server: Server, folder: Path, run: Runner) -> None:
    policy = str(folder / "rightcall.toml")
    link = run("console", "link", "--json", "--policy", policy).json["url"]
    assert link.startswith(server.told["console"])
    path = link.removeprefix(server.told["console"])
    got = request("POST", server.told["console"], path, b"", {"origin": server.told["console"]})
    cookie = got.headers["set-cookie"].partition(";")[0]
    pages = [request("GET", server.told["console"], "/", None, {"cookie": cookie}).status for _ in range(8)]
    assert pages == [200] * 8


def test_an_edit_of_the_policy_counts_at_every_worker(server: Server, folder: Path) -> None:
    connections = server.at_each().values()
    session = {one.worker: one.initialize() for one in connections}
    file = folder / "rightcall.toml"
    before = file.read_text()
    try:
        file.write_text(before.replace("[servers.tools]\n", '[servers.tools]\ndeny = ["echo"]\n'))

        def refused(one: Any) -> bool:
            text = str(monotonic())  # the same call again and again would be refused for that
            return bool(one.call("tools_echo", {"text": text}, session[one.worker]).json["result"].get("isError"))

        server.until(lambda: all(map(refused, connections)))
        server.until(lambda: "policy reloaded" in (folder / "stderr").read_text())
        assert [refused(one) for one in connections] == [True, True]
    finally:
        file.write_text(before)
    server.until(lambda: not any(map(refused, connections)))  # for whoever asks it next
    assert [refused(one) for one in connections] == [False, False]


@pytest.mark.long
def test_a_worker_that_was_killed_is_started_again_and_its_figures_stay(tmp_path: Path) -> None:
    with serving_with(tmp_path, 2, "--quiet") as server:
        assert [server.ask().status for _ in range(10)] == [200] * 10
        pids = server.worker_pids()
        server.until(lambda: server.counted() == 10)
        os.kill(pids[0], signal.SIGKILL)
        server.until(lambda: not lives(pids[0]))
        assert [server.ask().status for _ in range(10)] == [200] * 10
        server.until(lambda: len(set(server.worker_pids()) - {pids[0]}) == 2)
        assert server.counted() == 20
        log = (tmp_path / "stderr").read_text()
        assert f"worker {pids[0]} was ended by SIGKILL; another one starts" in log


@pytest.mark.long
def test_a_stopped_worker_hangs_nobody_and_its_session_is_not_waited_for(tmp_path: Path) -> None:
    with serving_with(tmp_path, 2, "--policy", with_server(tmp_path), "--quiet") as server:
        found = server.at_each()
        sessions = {name: one.initialize() for name, one in found.items()}
        stopped = server.worker_pids()[0]
        os.kill(stopped, signal.SIGSTOP)
        try:
            assert [server.ask().status for _ in range(64)] == [200] * 64
            assert server.counted() == 64
            here = server.connect()
            (other,) = set(sessions) - {here.worker}
            assert here.call("tools_echo", {"text": "x"}, sessions[other]).status == 404
            told = f"worker {stopped} has done nothing for 5 seconds; `kill -9 {stopped}` has it replaced"
            server.until(lambda: told in (tmp_path / "stderr").read_text())
        finally:
            os.kill(stopped, signal.SIGCONT)
        assert here.call("tools_echo", {"text": "x"}, sessions[here.worker]).status == 200


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.promise("S-02")
def test_a_store_that_hangs_hangs_no_worker(tmp_path: Path) -> None:
    with postgres.Server.started(postgres.binaries_of(postgres.POSTGRES[-1])) as store, store.database() as url:
        file = tmp_path / with_server(tmp_path)
        write_trusted(file, f'{file.read_text()}\n[store]\nurl = "{url}"\n')
        with serving_with(tmp_path, 2, "--policy", str(file), "--quiet") as server:
            sessions = {name: (one, one.initialize()) for name, one in server.at_each().items()}
            store.pause()
            try:
                until = monotonic() + HANGING + 3
                while monotonic() < until:
                    for one, session in sessions.values():
                        for path, status in (("/health/live", 200), ("/health/ready", 503), ("/v1/models", 200)):
                            began = monotonic()
                            assert one.get(path).status == status, path
                            assert monotonic() - began < 3.0, path
                        called = one.call("tools_echo", {"text": "x"}, session)
                        assert "cannot be written now" in text_of(called)
            finally:
                store.go_on()
            assert "has done nothing" not in logged(tmp_path)
            server.until(lambda: all(one.get("/health/ready").status == 200 for one, _ in sessions.values()))
            for one, session in sessions.values():
                assert text_of(one.call("tools_echo", {"text": "x"}, session)) == "x"


@pytest.mark.long
def test_a_worker_that_was_replaced_tells_no_more_what_the_new_ones_tell(tmp_path: Path) -> None:
    with serving_with(tmp_path, 2, "--policy", with_server(tmp_path)) as server:
        old = server.worker_pids()
        sessions = [one.initialize() for one in server.at_each().values()]  # which keep them
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda: "2 workers were replaced" in logged(tmp_path))
        server.until(lambda: server.connect().call_alone("tools_echo", {"text": "x"}).status == 200)
        assert all(server.connect().call("tools_echo", {"text": "x"}, one).status == 200 for one in sessions)
        assert set(old) < set(server.worker_pids())
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        (tools,) = {int(one) for one in children} - set(server.worker_pids())
        before = logged(tmp_path).count("tools has joined")
        os.kill(tools, signal.SIGKILL)
        server.until(lambda: logged(tmp_path).count("tools has joined") > before)
        sleep(1)
        assert logged(tmp_path).count("tools has joined") == before + 1


@pytest.mark.long
def test_sighup_replaces_all_workers_and_no_request_fails(tmp_path: Path) -> None:
    with serving_with(tmp_path, 2, "--policy", with_server(tmp_path), "--quiet") as server:
        old = set(server.worker_pids())
        kept = server.connect()
        session = kept.initialize()
        failures: list[object] = []
        asked, over = [0], threading.Event()

        def keep_asking(*, reconnect: bool) -> None:
            one = server.connect()
            while not over.is_set():
                try:
                    got = one.get("/v1/models")
                    asked[0] += 1
                    over.wait(0.005)  # on a busy machine it asks for long
                    if got.status != 200:
                        failures.append(got)
                    if reconnect or got.headers.get("connection") == "close":
                        one.close()
                        one = server.connect()
                except Exception as fault:  # noqa: BLE001  whatever it is, it is one
                    failures.append(fault)
                    one = server.connect()

        threads = [threading.Thread(target=keep_asking, kwargs={"reconnect": nth == 0}) for nth in range(4)]
        for one in threads:
            one.start()
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda: "2 workers were replaced" in (tmp_path / "stderr").read_text())
        assert kept.call("tools_echo", {"text": "still"}, session).status == 200, "its session lives on for a while"
        new = server.connect()
        assert new.worker not in (kept.worker,)
        assert text_of(new.call("tools_echo", {"text": "still"}, session)) == "still"
        assert new.delete(session).status == 200
        kept.close()
        over.set()
        for one in threads:
            one.join()
        assert failures == []
        assert asked[0] > 0
        server.until(lambda: not old & set(server.worker_pids()))
        assert server.counted() == asked[0]
        assert len(tool_server.starts(tmp_path)) == 1, "the MCP server outlives its workers"


@pytest.mark.long
def test_a_second_sighup_during_a_reload_is_done_after_it(tmp_path: Path) -> None:
    with serving_with(tmp_path, 2, "--quiet") as server:
        old = set(server.worker_pids())
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda: len(set(server.worker_pids()) - old) == 1)
        between = set(server.worker_pids())
        for _ in range(3):  # they are one
            server.process.send_signal(signal.SIGHUP)
            sleep(0.05)
        server.until(lambda: logged(tmp_path).count("2 workers were replaced") == 2)
        server.until(lambda: len(server.worker_pids()) == 2)
        assert not between & set(server.worker_pids())
        assert "all are replaced once more afterwards" in logged(tmp_path)
        assert server.ask().status == 200


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_is_left_behind(tmp_path: Path, number: signal.Signals) -> None:
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as short,
        serving_with(tmp_path, 2, "--policy", with_server(tmp_path), "--quiet", TMPDIR=short) as server,
    ):
        pids = [*server.worker_pids(), *tool_server.starts(tmp_path)]
        assert [stat.S_IMODE(one.stat().st_mode) for one in Path(short).glob(f"{FOLDER}*")] == [0o700]
        assert len(pids) == 3
        server.process.send_signal(number)
        assert server.process.wait(60) == (143 if number == signal.SIGTERM else -9)
        server.until(lambda: not any(map(lives, pids[:2])))
        assert list(Path(short).glob(f"{FOLDER}*")) == []


@pytest.mark.long
def test_one_worker_reloads_its_policy_at_sighup_and_goes_on(tmp_path: Path) -> None:
    file = write_trusted(tmp_path / "rightcall.toml", "version = 1\n")
    with serving_with(tmp_path, 1, "--policy", str(file), "--quiet") as server:
        assert server.worker_pids() == []
        write_trusted(file, 'version = 1\n[gate.hosts.proxy]\nmode = "observe"\n')
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda: server.ask().status == 200 and "policy reloaded" in (tmp_path / "stderr").read_text())
        assert server.process.poll() is None


@pytest.mark.long
def test_what_is_wrong_is_said_once(tmp_path: Path, run: Runner) -> None:
    (tmp_path / ".rightcall").write_text("not a folder")
    process = start("serve", "--workers", "2", "--root", str(tmp_path), "--port", "0")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, b"")
    assert err.count(b"error:") == 1
    for text in ("0", "129", "many"):
        assert run("serve", "--workers", text).code == 2


@pytest.mark.long
def test_what_the_system_refuses_is_tried_again_and_the_server_still_ends(tmp_path: Path) -> None:
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as short,
        serving_with(tmp_path, 2, "--quiet", TMPDIR=short) as server,
    ):
        parent, before = server.process.pid, resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(parent, resource.RLIMIT_NOFILE, (first_free(parent), before[1]))
        os.kill(server.worker_pids()[0], signal.SIGKILL)
        server.until(lambda: "a worker cannot be started: Too many open files" in logged(tmp_path))
        assert server.ask("/health").status == 200, "the other one goes on"
        resource.prlimit(parent, resource.RLIMIT_NOFILE, before)
        assert len(server.at_each()) == 2
        resource.prlimit(parent, resource.RLIMIT_NOFILE, (first_free(parent), before[1]))
        os.kill(server.worker_pids()[0], signal.SIGKILL)
        server.until(lambda: logged(tmp_path).count("a worker cannot be started") > 1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 143
        assert "Traceback" not in logged(tmp_path)
        assert list(Path(short).iterdir()) == []


@pytest.mark.long
def test_each_worker_that_dies_has_its_own_pause(tmp_path: Path) -> None:
    with serving_with(tmp_path, 2, "--quiet") as server:
        pids = server.worker_pids()
        for one in pids:
            os.kill(one, signal.SIGKILL)
        server.until(lambda: len(set(server.worker_pids()) - {*pids}) == 2)
        told = [
            f"worker {one} was ended by SIGKILL; another one starts in 0.5 seconds" in logged(tmp_path) for one in pids
        ]
        assert told == [True, True], logged(tmp_path)


@pytest.mark.long
def test_workers_that_die_while_the_policy_is_wrong_start_as_soon_as_it_is_right(tmp_path: Path) -> None:
    file = tmp_path / with_server(tmp_path)
    right = file.read_text()
    with serving_with(tmp_path, 2, "--policy", file.name, "--quiet") as server:
        session = {one: one.initialize() for one in server.at_each().values()}
        file.write_text(f"{right}[[[\n")
        server.until(lambda: "invalid policy ignored" in logged(tmp_path))
        for one, its in session.items():  # under the policy of before
            server.until(lambda one=one: "policy" in one.get("/health").json)
            assert text_of(one.call("tools_echo", {"text": "x"}, its)) == "x"
        for pid in server.worker_pids():
            os.kill(pid, signal.SIGKILL)
        server.until(lambda: logged(tmp_path).count("another one starts once the policy file is valid") == 2)
        file.write_text(right)
        server.until(lambda: logged(tmp_path).count("policy reloaded") == 1)
        server.until(lambda: len(server.worker_pids()) == 2)
        assert server.ask().status == 200
        log = logged(tmp_path)
        assert (log.count("invalid policy ignored"), "exit code" in log) == (1, False), log


@pytest.mark.long
def test_a_worker_without_a_parent_finishes_and_asks_nobody_for_a_second_signal(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        url = f"http://127.0.0.1:{upstream.getsockname()[1]}"
        with serving_with(tmp_path, 2, "--upstream", url, "--quiet") as server, contextlib.ExitStack() as opened:
            pids = server.worker_pids()
            where = urlsplit(server.url)
            client = opened.enter_context(socket.create_connection((where.hostname, where.port)))
            head = (
                f"POST {where.path}/v1/chat/completions HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-length: 2\r\n\r\n"
            )
            client.sendall(f"{head}{{}}".encode())
            while not opened.enter_context(upstream.accept()[0]).recv(4).startswith(b"POST"):
                pass  # whoever only looks whether it is there
            server.process.kill()
            server.until(lambda: "finishing 1 request" in logged(tmp_path))
            opened.close()
            server.until(lambda: not any(map(lives, pids)))
            assert "Ctrl-C" not in logged(tmp_path)


def test_too_few_open_files_are_told_before_anything_starts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rightcall", "serve", "--workers", "4", "--port", "0"]
    few = ["sh", "-c", 'ulimit -n 24; exec "$0" "$@"', *command]
    done = subprocess.run(few, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    told = "error: `--workers 4` needs 76 open files or more, and the limit is 24. Raise it, for example with"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


@pytest.mark.long
def test_servers_that_write_endless_lines_do_not_fill_the_parent(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    endless = f"open({str(starts)!r}, 'a').write('x')\nimport os\nwhile os.write(1, b'x' * 65536): pass"
    command = json.encode([sys.executable, "-S", "-c", endless]).decode()
    (tmp_path / "rightcall.toml").write_text(f"version = 1\n[servers.endless]\ncommand = {command}\n")
    with serving_with(tmp_path, 2, "--policy", "rightcall.toml", "--quiet") as server:
        server.until(lambda: starts.exists() and starts.stat().st_size >= 4)
        early = resident(server.process.pid)
        server.until(lambda: starts.stat().st_size >= 14)
        assert resident(server.process.pid) - early < 5 * 16_000_000, "of ten lines of 16 MB nothing stays"


def resident(process: int) -> int:
    """Bytes of its memory."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
