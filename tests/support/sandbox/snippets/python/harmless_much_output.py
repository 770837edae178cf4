"""A hundred thousand lines, below the limit."""

for number in range(100_000):
    print(number)
# lines 100000
