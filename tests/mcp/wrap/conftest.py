from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.executor.door import Door
from support.wrapping import ASKING, Wrapped


@pytest.fixture
def wrapped() -> Iterator[Wrapped]:
    """Without any policy."""
    with Door.open("wrap") as door:
        yield Wrapped(door)


@pytest.fixture
def asking() -> Iterator[Wrapped]:
    """`delete_file` asks a person."""
    policy: dict[str, Any] = ASKING
    with Door.open("wrap", policy) as door:
        yield Wrapped(door)
