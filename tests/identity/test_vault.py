"""Files of the vault that are damaged, or not what they seem."""

import asyncio
import os
from pathlib import Path

import pytest

from rightcall.errors import IdentityError
from rightcall.identity.vault import Vault


@pytest.fixture(name="vault")
def _vault(tmp_path: Path) -> Vault:
    folder = tmp_path / "state" / "logins"
    folder.mkdir(mode=0o700, parents=True)
    return Vault(str(folder), lambda: None)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b'{"login":{"server":"\xff"}}', b'{"x":' + b"[" * 100_000, b"\0" * 100]
)
def test_a_damaged_file_is_told_and_is_no_crash(vault: Vault, content: bytes) -> None:
    path = Path(vault.folder, "k.json")
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(IdentityError, match="cannot be read; remove it and log in again"):
        vault.read("k")
    assert vault.logins() == []


async def hold(vault: Vault, key: str) -> None:
    async with vault.held(key):
        pass


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
@pytest.mark.promise("I-04")
def test_a_lock_that_is_a_link_or_a_folder_is_not_taken(vault: Vault, tmp_path: Path) -> None:
    Path(vault.folder, "one.lock").symlink_to(tmp_path / "elsewhere")
    Path(vault.folder, "two.lock").mkdir()
    for key in ("one", "two"):
        with pytest.raises(IdentityError, match="logins cannot be kept"):
            asyncio.run(hold(vault, key))
    assert not (tmp_path / "elsewhere").exists()
