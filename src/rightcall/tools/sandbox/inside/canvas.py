"""How the plotting library draws inside: into files, since there is no screen. `show()` saves what it would have shown,
as models often write no more than that. Loaded by the library itself, under the name that `charts.py` gives it."""

from __future__ import annotations

import os
from itertools import count
from typing import Any

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false
from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg


class FigureManager(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *_: Any, **__: Any) -> None:
        for manager in Gcf.get_all_fig_managers():
            manager.canvas.figure.savefig(_free_name())
        Gcf.destroy_all()


class FigureCanvas(FigureCanvasAgg):
    manager_class: Any = FigureManager


def _free_name() -> str:
    names = (f"figure-{number}.png" for number in count(1))
    return next(name for name in names if not os.path.exists(name))
