"""Functions of the C library, and one of ours that it calls."""

import ctypes
import ctypes.util

library = ctypes.CDLL(None)
print(library.abs(-5), library.strlen(b"hello"))
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 4)(3, 1, 2, 0)
library.qsort(numbers, 4, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
print(list(numbers))
# > 5 5
# > [0, 1, 2, 3]
