"""Paths as a function gets them: from the root, wherever they stand in the arguments."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightcall.tools.state import place_arguments

pytestmark = pytest.mark.promise("P-03")


@pytest.mark.parametrize(
    ("given", "place", "expected"),
    [
        ({"path": "a", "other": "b"}, "path", {"path": "/r/a", "other": "b"}),
        ({"path": "/abs"}, "path", {"path": "/abs"}),
        ({"paths": ["a", "/b"]}, "paths", {"paths": ["/r/a", "/b"]}),
        ({"ops": [{"path": "a"}, {"x": 1}]}, "ops[].path", {"ops": [{"path": "/r/a"}, {"x": 1}]}),
        ({"to": {"file": "a"}}, "to.file", {"to": {"file": "/r/a"}}),
        ({"path": 5}, "path", {"path": 5}),
        ({}, "path", {}),
    ],
)
def test_relative_paths_are_joined_to_the_root(given: Any, place: str, expected: Any) -> None:
    before = json.dumps(given)
    assert place_arguments(given, (place,), "/r") == expected
    assert json.dumps(given) == before, "what was judged is not changed"


def test_paths_inside_json_text_are_too() -> None:
    text = json.dumps([{"path": "a"}, {"path": "/b"}])
    (made,) = place_arguments({"ops": text}, ("ops[].path",), "/r").values()
    assert json.loads(made) == [{"path": "/r/a"}, {"path": "/b"}]
    assert place_arguments({"ops": "no json"}, ("ops[].path",), "/r") == {"ops": "no json"}


def test_where_the_process_works_in_the_root_they_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_arguments({"path": "a"}, ("path",), str(tmp_path)) == {"path": "a"}
