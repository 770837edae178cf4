"""What programs are made of: classes of its own, pickled and inspected as of `__main__`."""

import dataclasses
import inspect
import pickle
import typing


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


print(pickle.loads(pickle.dumps(Point(1, 2))), typing.get_type_hints(Point))  # noqa: S301
print(Point.__module__, inspect.getsource(Point).splitlines()[0], sorted(name for name in globals() if name[0] != "_"))
# > Point(x=1, y=2) {'x': <class 'int'>, 'y': <class 'int'>}
# > __main__ @dataclasses.dataclass ['Point', 'dataclasses', 'inspect', 'pickle', 'typing']
