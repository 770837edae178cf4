"""Cases of emissions as parameters of a test. `xfail` in a case is a defect that is known, and why it is one."""

from typing import Any

import pytest

from cases import cases


def parameters(*files: str) -> list[Any]:
    found: list[Any] = []
    for name in files:
        for case in cases(name):
            marks = [pytest.mark.promise(case["promise"])]
            if "xfail" in case:
                marks.append(pytest.mark.xfail(reason=case["xfail"]))
            found.append(pytest.param(case, id=f"{name.removeprefix('recover_')[:-6]}: {case['why']}", marks=marks))
    return found
