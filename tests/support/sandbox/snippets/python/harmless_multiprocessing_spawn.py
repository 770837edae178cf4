"""A process started anew, which imports the program once more."""

import multiprocessing


def double(number):
    return number * 2


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(double, (21,)))
# > 42
# only namespaces
