"""Where the user's own folder is."""

import os
import sys
from pathlib import Path

import pytest

from rightcall.base.files.guarded import state_folder


@pytest.mark.skipif(sys.platform == "win32", reason="there is no HOME there")
@pytest.mark.parametrize("home", ["", ".", "here", "sub/../here"])
def test_a_home_folder_that_is_relative_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    import pwd

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    own = pwd.getpwuid(os.getuid()).pw_dir
    assert state_folder() == os.path.join(own, ".local", "state", "rightcall")
