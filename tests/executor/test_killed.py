"""A process that is killed leaves a record that is true (`make kill` does it a hundred times at each stage)."""

import json
import subprocess
import sys

import pytest

from support import killing_calls


@pytest.mark.long
@pytest.mark.promise("A-01", "A-03")
def test_whatever_the_stage_nothing_ran_without_a_record_or_twice_and_the_interruption_shows() -> None:
    done = subprocess.run(
        [sys.executable, killing_calls.__file__, "--times", "2"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"kills": 16, "faults": []}
