"""A provider for each module, and a person who has an account with it."""

from collections.abc import Generator
from pathlib import Path

import pytest

from identity.person import Person
from identity.providers import PROVIDERS, Provider
from identity.providers import provider as start_provider


@pytest.fixture(scope="module", params=PROVIDERS)
def provider(request: pytest.FixtureRequest, npm_bin: Path) -> Generator[Provider]:
    with start_provider(request.param, npm_bin) as started:
        yield started


@pytest.fixture
def alice() -> Generator[Person]:
    with Person("alice") as person:
        yield person
