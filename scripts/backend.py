"""The build backend: flit's, which also puts the pages of docs/ into the wheel, so that `rightcall docs` has them."""

from pathlib import Path

from flit_core import wheel  # pyright: ignore[reportMissingImports] - only there while a wheel is built
from flit_core.buildapi import (  # pyright: ignore[reportMissingImports]
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip


class WithPages(wheel.WheelBuilder):
    """The frontends call it with the source tree as the current folder."""

    def copy_module(self) -> None:
        super().copy_module()
        for page in sorted(Path("docs").rglob("*.md")):
            self._add_file(page, Path("rightcall") / page)


wheel.WheelBuilder = WithPages
