"""A real browser, driven over the pipe of its developer tools: no driver, no package, nothing fetched.

    with Chromium() as browser:
        page = browser.page()
        page.open("http://127.0.0.1:4142/")
        page.click("a[href='/inbox']")
        assert page.troubles() == []

Clicks and keys are those of a mouse and a keyboard: what is covered or hidden cannot be clicked.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 20.0
"""The longest wait for anything that a page does by itself."""
NAMED_KEYS = {"Escape": 27, "Enter": 13, "Tab": 9}


class BrowserError(Exception):
    pass


def program() -> str:
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise BrowserError("no Chromium found. On Debian and Ubuntu: sudo apt-get install chromium")
    return found


class Chromium:
    """One process of the browser, with a profile of its own that goes with it."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="rightcall-chromium-")
        heard, self._write = os.pipe()
        self._read, said = os.pipe()
        # High numbers: the shell puts them in places 3 and 4, and must not put one over the other.
        theirs = [fcntl.fcntl(one, fcntl.F_DUPFD, 20) for one in (heard, said)]
        switches = (
            "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run "
            "--disable-background-networking --disable-component-update --remote-debugging-pipe"
        )  # no sandbox: root has none, and the pages are our own
        command = f'exec "$0" {switches} "--user-data-dir=$1" about:blank 3<&{theirs[0]} 4>&{theirs[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, program(), self._profile], pass_fds=theirs, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for one in (heard, said, *theirs):
            os.close(one)
        self._asked = 0
        self._rest = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _what: BaseException | None, _: TracebackType | None) -> None:
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(5)  # it ends with its pipe
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def person(self) -> str:
        """A context that shares no cookie with others."""
        return self.ask("Target.createBrowserContext")["browserContextId"]

    def page(self, person: str | None = None) -> "Page":
        """A new window of a person, who else is a new one; in one window, only the last tab would be visible."""
        owner = person or self.person()
        target = self.ask("Target.createTarget", url="about:blank", browserContextId=owner, newWindow=True)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, target, owner)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.ask(f"{domain}.enable")
        return page

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._asked += 1
        number = self._asked
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        rest = memoryview(json.dumps(message).encode() + b"\0")
        while rest:
            rest = rest[os.write(self._write, rest) :]
        if not self.listen(lambda: number in self._answers, 2 * SECONDS):
            raise BrowserError(f"the browser did not answer {method}")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def listen(self, done: Callable[[], object], seconds: float = SECONDS) -> bool:
        """Takes what the browser says until that is so; False where it never was."""
        until = time.monotonic() + seconds
        while not done():
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                return bool(done())
            more = os.read(self._read, 1 << 20)
            if not more:
                raise BrowserError("the browser has ended")
            *whole, self._rest = (self._rest + more).split(b"\0")
            for one in whole:
                self._take(json.loads(one))
        return True

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
        elif page := self._pages.get(message.get("sessionId", "")):
            page.take(message["method"], message["params"])


class Page:
    """One tab."""

    def __init__(self, browser: Chromium, session: str, target: str, person: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self.person = person
        self._loads = 0
        self._troubles: list[str] = []
        self.requested: list[str] = []
        """The address of everything it asked for."""

    def take(self, event: str, said: dict[str, Any]) -> None:
        match event:
            case "Page.loadEventFired":
                self._loads += 1
            case "Network.requestWillBeSent":
                self.requested.append(said["request"]["url"])
            case "Log.entryAdded" if said["entry"]["level"] in ("error", "warning"):
                self._troubles.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")
            case "Runtime.exceptionThrown":
                self._troubles.append(str(said["exceptionDetails"].get("exception", said))[:500])
            case "Runtime.consoleAPICalled" if said["type"] in ("error", "warning", "assert"):
                self._troubles.append(str(said["args"])[:500])
            case "Page.javascriptDialogOpening":
                self._troubles.append(f"a script said {said['message']!r}")
            case _:
                pass

    def troubles(self) -> list[str]:
        """Errors, warnings, violations of the content policy and dialogs since the last look."""
        found, self._troubles = self._troubles, []
        return found

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.ask(method, self._session, **parameters)

    def open(self, url: str) -> None:
        self.loading(lambda: self.ask("Page.navigate", url=url))

    def reload(self) -> None:
        self.loading(lambda: self.ask("Page.reload"))

    def loading(self, act: Callable[[], object]) -> None:
        """Does something that loads a page, and waits until that is there."""
        before = self._loads
        act()
        if not self._browser.listen(lambda: self._loads > before):
            raise BrowserError("no page was loaded")

    def run(self, script: str) -> Any:
        """The value of an expression, in the page; promises are awaited."""
        found = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise BrowserError(f"{script}: {found['exceptionDetails'].get('exception', {}).get('description')}")
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = SECONDS) -> None:
        """Until an expression is true; fails where it never is."""
        until = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > until:
                raise BrowserError(f"it was never so: {script}")
            self._browser.listen(lambda: False, 0.02)

    def text(self, selector: str = "body") -> str:
        """What a person reads there."""
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of it. What covers it gets the click, and fails this."""
        script = """(selector => {
            const one = document.querySelector(selector);
            if (!one) return null;
            one.scrollIntoView({block: "center"});
            const box = one.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
            const there = document.elementFromPoint(x, y);
            return there && one.contains(there) ? [x, y] : null;
        })(%s)"""
        at = self.run(script % json.dumps(selector))
        if at is None:
            raise BrowserError(f"nobody can click {selector}")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def press(self, *keys: str) -> None:
        for key in keys:
            code = NAMED_KEYS.get(key)
            words = {"text": "\r" if key == "Enter" else key} if code is None or key == "Enter" else {}
            more = {"windowsVirtualKeyCode": code} if code else {}
            self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **words, **more)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def size(self, width: int, height: int = 800) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def prefer(self, scheme: str) -> None:
        """Light or dark."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def without_scripts(self) -> None:
        self.ask("Emulation.setScriptExecutionDisabled", value=True)

    def picture(self) -> bytes:
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        self._browser.ask("Target.closeTarget", targetId=self._target)
