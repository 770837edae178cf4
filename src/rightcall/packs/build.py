"""Write `compiled.json` from the shipped packs: `python -m rightcall.packs.build`, after each edit of one."""

from pathlib import Path

from msgspec import Raw, json

from rightcall.packs import available_packs, read_pack_text
from rightcall.packs.compiled import FILE, PackEntry, checksum_of


def compiled_packs() -> bytes:
    """What `compiled.json` must hold: one line per pack, so that a change shows as one line."""
    lines: list[bytes] = []
    for name in available_packs():
        text = (Path(FILE).parent / f"{name}.toml").read_text(encoding="utf-8")
        pack = json.encode(read_pack_text(text, f"{name}.toml"))
        lines.append(json.encode(name) + b":" + json.encode(PackEntry(checksum_of(text), Raw(pack))))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


if __name__ == "__main__":
    Path(FILE).write_bytes(compiled_packs())
