"""Files of the vault that are damaged, or not what they seem."""

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from rightcall.errors import IdentityError
from rightcall.identity.discovery import Provider
from rightcall.identity.registration import Client
from rightcall.identity.vault import Login, Secrets, Vault, Want


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


URL = "https://mcp.example/mcp"
ISSUER = "https://login.example"


def login_for(url: str = URL) -> Login:
    provider = Provider(issuer=ISSUER, token_endpoint=f"{ISSUER}/token")
    return Login(
        server="notes", url=url, resource=url, provider=provider, client=Client(ISSUER, "c"), at=1.0, renewable=True
    )


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
@pytest.mark.promise("I-04")
@pytest.mark.parametrize("how", ["link", "hanging link", "pipe", "folder", "readable", "writable", "read by a group"])
@pytest.mark.parametrize("end", ["json", "want", "pin"])
def test_a_file_that_is_not_what_it_seems_is_not_read(vault: Vault, tmp_path: Path, how: str, end: str) -> None:
    login = vault.write(login_for(), Secrets("access", "refresh"))
    vault.note_want(Want(server="notes", url=URL))
    vault.pin_issuer(URL, ISSUER)
    (file,) = Path(vault.folder).glob(f"*.{end}")
    modes = {"readable": 0o644, "writable": 0o622, "read by a group": 0o640}
    if how in modes:
        file.chmod(modes[how])
    else:
        moved = tmp_path / "elsewhere"
        file.rename(moved)
        match how:
            case "pipe":
                os.mkfifo(file, 0o600)
            case "folder":
                file.mkdir(mode=0o700)
            case _:
                file.symlink_to(moved if how == "link" else tmp_path / "nothing")
    read = {"json": lambda: vault.read(login.key), "want": lambda: vault.want(login.key)}
    with pytest.raises(IdentityError):
        read.get(end, lambda: vault.first_issuer(URL))()


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
@pytest.mark.promise("I-04")
def test_a_folder_that_is_a_link_keeps_nothing(vault: Vault, tmp_path: Path) -> None:
    Path(vault.folder).rename(tmp_path / "moved")
    Path(vault.folder).symlink_to(tmp_path / "moved")
    with pytest.raises(IdentityError):
        vault.write(login_for(), Secrets("access"))
    assert list((tmp_path / "moved").iterdir()) == []


class Ring:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[f"{service} {username}"] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[f"{service} {username}"]


class Full(Ring):
    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(password)


class Forgetful(Ring):
    """Takes everything, and gives it back in another form."""

    def get_password(self, service: str, username: str) -> str | None:
        return (super().get_password(service, username) or "")[:10]


class Locked(Ring):
    """Its user takes their time to unlock it."""

    def __init__(self) -> None:
        super().__init__()
        self.unlocked, self.cleared = threading.Event(), threading.Semaphore(0)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.unlocked.wait(10)
        super().set_password(service, username, password)

    def delete_password(self, service: str, username: str) -> None:
        self.unlocked.wait(10)
        try:
            super().delete_password(service, username)
        finally:
            self.cleared.release()


@pytest.mark.promise("I-04")
@pytest.mark.parametrize("kind", [Full, Forgetful, Locked])
def test_a_login_that_moves_from_the_keyring_to_a_file_leaves_nothing_there(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, kind: type[Ring]
) -> None:
    for name in ("_KEYRING_SECONDS", "_CLEARING_SECONDS"):
        monkeypatch.setattr(sys.modules[Vault.__module__], name, 0.05)
    first, later = Ring(), kind()
    kept = Vault(vault.folder, lambda: first).write(login_for(), Secrets("old-access", "old-refresh"))
    assert (kept.keeping, len(first.kept)) == ("keyring", 1)
    later.kept = first.kept
    moved = Vault(vault.folder, lambda: later)
    assert moved.write(login_for(), Secrets("new-access", "new-refresh")).keeping == "file"
    assert moved.read(kept.key) == (replace(kept, keeping="file"), Secrets("new-access", "new-refresh"))
    if isinstance(later, Locked):
        later.unlocked.set()
        assert all(later.cleared.acquire(timeout=5) for _ in range(2))  # what was there, and what came too late
    assert first.kept == {}


@pytest.mark.promise("I-04")
def test_whatever_a_keyring_raises_is_told_without_its_words(vault: Vault) -> None:
    class Broken(Ring):
        def get_password(self, service: str, username: str) -> str | None:
            raise RuntimeError("old-access")

    ring = Ring()
    kept = Vault(vault.folder, lambda: ring).write(login_for(), Secrets("old-access"))
    with pytest.raises(IdentityError, match=r"cannot be used \(RuntimeError\)") as caught:
        Vault(vault.folder, Broken).read(kept.key)
    assert "old-access" not in str(caught.value)
    with pytest.raises(IdentityError, match="which cannot be used here"):
        vault.read(kept.key)
