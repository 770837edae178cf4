"""The processes of a measurement: the scripted server, our proxy, LiteLLM's; and what they cost."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import msgspec

from bench.proxy_load import Job, Seen

LITELLM = "LITELLM"
"""The environment variable with the path of another environment's `litellm` command."""
PATIENCE = 90.0
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Contender(NamedTuple):
    """A server that clients can ask: `prefix` comes before every path."""

    name: str
    pid: int
    port: int
    prefix: str = ""
    headers: dict[str, str] = {}  # noqa: RUF012 - read only

    def job(self, path: str = "/v1/chat/completions", **given: object) -> Job:
        job = msgspec.convert({"port": self.port, "path": self.prefix + path, "headers": self.headers, **given}, Job)
        if self.name == "LiteLLM" and job.check in ("bytes", "call"):
            job.check = "status" if job.get or job.check == "call" else "text"  # it writes every answer anew
        return job

    def cpu(self) -> float:
        """Seconds of CPU of the process, its threads and its children, so far."""
        return sum(cpu_of(pid) for pid in (self.pid, *children(self.pid)))

    def memory(self) -> float:
        """Resident megabytes now."""
        return sum(_memory(pid) for pid in (self.pid, *children(self.pid)))


class Cost(NamedTuple):
    cpu: float
    """Seconds for each request, without what the process takes when idle."""
    rate: float
    """Requests a second."""


def children(pid: int) -> list[int]:
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [one for child in found for one in (child, *children(child))]


def cpu_of(pid: int) -> float:
    """From the clock that the kernel keeps for a process: also of threads that have ended, which those that are left
    under /proc/PID/task do not tell."""
    return time.clock_gettime((~pid << 3) | 2)


def _memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


def idle(contender: Contender, seconds: float = 1.0) -> float:
    """CPU seconds in a second in which nobody asks."""
    before = contender.cpu()
    time.sleep(seconds)
    return (contender.cpu() - before) / seconds


def load(job: Job) -> Seen:
    command = [sys.executable, "-m", "bench.proxy_load", msgspec.json.encode(job).decode()]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-2000:])
    return msgspec.json.decode(done.stdout, type=Seen)


def cost(contender: Contender, job: Job, resting: float) -> Cost:
    """What a load costs the contender. Anything wrong with an answer ends the measurement."""
    before, began = contender.cpu(), time.perf_counter()
    seen = load(job)
    taken = contender.cpu() - before - resting * (time.perf_counter() - began)
    if seen.wrong:
        raise RuntimeError(f"{contender.name}: {seen.wrong} of {job.count} answers were wrong: {seen.example}")
    if taken <= 0:
        raise RuntimeError(f"{contender.name}: {job.count} requests cost nothing, so the measurement is wrong")
    return Cost(taken / job.count, job.count / seen.wall)


@contextmanager
def upstream() -> Iterator[Contender]:
    with a_process([sys.executable, "-m", "bench.proxy_upstream"]) as process:
        assert process.stdout is not None
        yield Contender("direct", process.pid, int(process.stdout.readline()))


@contextmanager
def rightcall(server: Contender, folder: Path, *options: str) -> Iterator[Contender]:
    """Our proxy as everybody starts it: with a token and an audit."""
    command = [
        sys.executable, "-c", "import sys; from rightcall.cli import main; sys.exit(main())", "proxy",
        "--upstream", f"http://127.0.0.1:{server.port}", "--port", "0", "--json", "--quiet", "--root", str(folder),
        *options,
    ]  # fmt: skip
    with a_process(command) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        port = int(told["address"].rpartition(":")[2])
        yield Contender("RightCall", process.pid, port, f"/{told['token']}" if told["token"] else "")


def litellm_command() -> str | None:
    beside = Path(sys.executable).parent / "litellm"
    return os.environ.get(LITELLM) or (str(beside) if beside.exists() else shutil.which("litellm"))


@contextmanager
def litellm(server: Contender, folder: Path) -> Iterator[Contender | None]:
    """LiteLLM's proxy with a key, no database and no callbacks; None where it is not installed."""
    command = litellm_command()
    if command is None:
        yield None
        return
    target = f"http://127.0.0.1:{server.port}"
    config = {
        "model_list": [
            {"model_name": "m", "litellm_params": {"model": "openai/m", "api_base": f"{target}/v1", "api_key": "none"}}
        ],
        "litellm_settings": {"telemetry": False, "request_timeout": 300},
        "general_settings": {"pass_through_endpoints": [{"path": "/plain", "target": f"{target}/plain"}]},
    }
    (folder / "litellm.yaml").write_text(json.dumps(config))  # JSON is YAML
    key, port = f"sk-{secrets.token_hex(24)}", _free_port()
    local = {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    given = [command, "--config", str(folder / "litellm.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    with a_process(given, env={**os.environ, **local}, quiet=True) as process:
        _wait_for(f"http://127.0.0.1:{port}/health/liveliness", process)
        yield Contender("LiteLLM", process.pid, port, "", {"authorization": f"Bearer {key}"})


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return bound.getsockname()[1]


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with suppress(URLError, OSError), urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    raise RuntimeError("LiteLLM's proxy did not start")


@contextmanager
def a_process(
    command: list[str], env: dict[str, str] | None = None, *, quiet: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    output = subprocess.DEVNULL if quiet else subprocess.PIPE
    errors = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
