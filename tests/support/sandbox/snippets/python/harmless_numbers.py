"""Decimals, fractions, large integers, complex ones."""

import cmath
import math
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 30
print(Decimal(2).sqrt())
print(Fraction(1, 3) + Fraction(1, 6), math.factorial(30), round(abs(cmath.exp(1j)), 6))
print(2**200)
# > 1.41421356237309504880168872421
# > 1/2 265252859812191058636308480000000 1.0
# > 1606938044258990275541962092341162602522202993782792835301376
