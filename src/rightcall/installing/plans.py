"""What installing or uninstalling would change in one file. Nothing is written here."""

from typing import Any

import msgspec

from rightcall.errors import ConfigError
from rightcall.installing.by_hand import hook_lines, wrap_lines
from rightcall.installing.changed import Cannot, Made
from rightcall.installing.commands import Wish
from rightcall.installing.files import contents, digest, real_file, text_of
from rightcall.installing.hooks import bare_of_hooks, found_hooks, groups_for, put_hooks, without_hooks
from rightcall.installing.jsonc import NotReadable, read
from rightcall.installing.manifest import Manifest, Record
from rightcall.installing.places import Host
from rightcall.installing.servers import bare_of_wrapping, entries_of, unwrap_servers, wrap_servers
from rightcall.installing.toml_edits import block_of, hook_tables, read_toml, with_block, without_block


class Change(msgspec.Struct, frozen=True):
    """One file before and after, None where it is not there. `path` is how it is named, `file` what is behind links;
    `exact` says that a copy comes back, byte for byte."""

    host: Host
    path: str
    file: str
    before: bytes | None
    after: bytes | None
    made: Made = Made()
    record: Record | None = None
    exact: bool = True

    @property
    def is_none(self) -> bool:
        return self.before == self.after


def planned_install(host: Host, path: str, wish: Wish, manifest: Manifest) -> Change:
    """The file with us in it. Raises ConfigError, with what to do by hand, where it cannot be edited safely."""
    data = contents(path)
    file = real_file(path)
    text = "" if data is None else text_of(data, path)
    try:
        after, made = _installed(host, path, text, wish)
    except (Cannot, NotReadable) as error:
        lines = wrap_lines(wish) if host.kind == "servers" else hook_lines(host, wish, toml=path.endswith(".toml"))
        raise _refusal(error, text, path, lines) from None
    changed = None if data is None and not after else after.encode("utf-8")
    exact = host.kind == "servers" or not _ours_in(host, path, text)
    return Change(host, path, file, data, changed, made, manifest.of(host.name, file), exact)


def _installed(host: Host, path: str, text: str, wish: Wish) -> tuple[str, Made]:
    if path.endswith(".toml"):
        return _in_toml(host, text, wish), Made()
    if host.kind == "servers":
        if _is_blank(text):
            return text, Made()
        after, made = wrap_servers(text, wish)
        _demand(_bare(after) == _bare(text), "other settings would change")
        return after, made
    base = "{}\n" if _is_blank(text) else text
    after, made = put_hooks(host, base, wish)
    _verify_hooks(host, read(base).plain(), read(after).plain())
    return after, made


def _bare(text: str) -> Any:
    return bare_of_wrapping(read(text).plain())


def _verify_hooks(host: Host, before: Any, after: Any) -> None:
    _demand(_is_same_but_for_us(host, before, after), "other settings would change")
    _demand(set(host.events) <= {one.event for one in found_hooks(host, after)}, "a hook would be missing")


def _in_toml(host: Host, text: str, wish: Wish) -> str:
    before = read_toml(text)
    ours = found_hooks(host, before)
    if ours and block_of(text) is None:
        raise Cannot("hooks of rightcall stand there that `rightcall install` did not write; change them by hand")
    after = with_block(text, hook_tables(groups_for(host, wish, ours)))
    _verify_hooks(host, before, read_toml(after))
    return after


def planned_removal(host: Host, path: str, manifest: Manifest) -> Change:
    """The file without us: the very bytes that were there if nobody wrote since, else those of today less our part."""
    data, file = contents(path), real_file(path)
    record = manifest.of(host.name, file)
    if data is None or (record is not None and record.exact and digest(data) == record.before):
        return Change(host, path, file, data, data, record=record)
    if record is not None and record.exact and digest(data) == record.after:
        copy = contents(record.backup) if record.backup else None
        if record.created or (copy is not None and digest(copy) == record.before):
            return Change(host, path, file, data, copy, record=record)
    text = text_of(data, path)
    try:
        after = _removed(host, path, text, record)
    except (Cannot, NotReadable) as error:
        raise _refusal(
            error, text, path, ["Take out by hand what holds `rightcall hook` or `rightcall wrap`."]
        ) from None
    ours_alone = record is not None and record.created and after.strip("\ufeff \t\r\n") in ("", "{}")
    return Change(host, path, file, data, None if ours_alone else after.encode("utf-8"), record=record, exact=False)


def _removed(host: Host, path: str, text: str, record: Record | None) -> str:
    made = None if record is None else record.made
    if path.endswith(".toml"):
        return _out_of_toml(host, text)
    if _is_blank(text):
        return text
    if host.kind == "servers":
        after = unwrap_servers(text, made)
        _demand(_bare(after) == _bare(text), "other settings would change")
        return after
    before = read(text).plain()
    after = without_hooks(host, text, made)
    left = read(after).plain()
    _demand(not found_hooks(host, left) and _is_same_but_for_us(host, before, left), "other settings would change")
    return after


def _is_same_but_for_us(host: Host, before: Any, after: Any) -> bool:
    return bare_of_hooks(host, before) == bare_of_hooks(host, after)


def _out_of_toml(host: Host, text: str) -> str:
    before = read_toml(text)
    after = without_block(text)
    left = read_toml(after)
    if found_hooks(host, left):
        raise Cannot("hooks of rightcall stand there that `rightcall install` did not write")
    _demand(_is_same_but_for_us(host, before, left), "something else stands between our two comments")
    return after


def _ours_in(host: Host, path: str, text: str) -> bool:
    if _is_blank(text):
        return False
    return bool(found_hooks(host, read_toml(text) if path.endswith(".toml") else read(text).plain()))


def is_installed(host: Host, path: str) -> bool:
    """Whether anything of ours is in a file; a file that cannot be read is not."""
    try:
        data = contents(path)
        text = "" if data is None else text_of(data, path)
        if host.kind == "servers":
            return any(one.state == "wrapped" for one in entries_of(None if _is_blank(text) else read(text).plain()))
        return _ours_in(host, path, text)
    except (ConfigError, NotReadable):
        return False


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _demand(holds: bool, otherwise: str) -> None:
    """The last check before anything is shown or written: what was made means what it should."""
    if not holds:
        raise Cannot(f"it is written in a way that cannot be edited safely: {otherwise}")


def _refusal(error: Cannot | NotReadable, text: str, path: str, lines: list[str]) -> ConfigError:
    line = text.count("\n", 0, error.at) + 1 if error.at >= 0 else 0
    return ConfigError(f"{error.why}. Nothing was changed.\n" + "\n".join(lines), source=path, line=line)
