"""A client that has closed its side, as a shell's pipe does, while its calls are on their way."""

import json
import os
import sys
from pathlib import Path

import pytest

from rightcall.executor.door import Door
from rightcall.mcp.wrap.calls import LISTING_SECONDS
from rightcall.mcp.wrap.process import Listing
from rightcall.mcp.wrap.wrap import Pump
from support.wrapping import TOOLS, call, line

SLOW = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tools/list":
        open(sys.argv[1]).read()  # until somebody says that it has started
        result = {"tools": json.loads(sys.argv[2])}
    else:
        result = {"content": []}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.mark.promise("H-04")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the process closes what it reads
@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_a_call_waits_for_its_server_to_start_as_long_as_it_would_with_the_client_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    settled, waits = Listing.settled, list[float]()

    def settle(listing: Listing, within: float) -> bool:
        waits.append(within)
        started.write_text("now")  # only once the client has gone
        return settled(listing, within)

    monkeypatch.setattr(Listing, "settled", settle)
    inside, outside = os.pipe()
    heard, told = os.pipe()
    os.write(outside, line(call(7, "read_file", {"path": "a"})))
    os.close(outside)
    command = [sys.executable, "-c", SLOW, str(started), json.dumps(TOOLS)]
    with Door.open("wrap") as door:
        Pump(door, "s", command, inside, told, answerable=False).run()
    os.close(told)
    with open(heard, "rb") as answers:
        assert [json.loads(answer)["id"] for answer in answers] == [7]
    assert waits[0] >= LISTING_SECONDS
