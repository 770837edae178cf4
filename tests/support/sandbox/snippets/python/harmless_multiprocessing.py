"""A pool of processes, a lock and a queue between them."""

import multiprocessing


def square(number):
    return number * number


def add(lock, total):
    with lock:
        total.value += 1


if __name__ == "__main__":
    ways = multiprocessing.get_context("fork")
    with ways.Pool(2) as pool:
        print(pool.map(square, range(5)))
    lock, total = ways.Lock(), ways.Value("i", 0)
    workers = [ways.Process(target=add, args=(lock, total)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(total.value)
    queue = ways.Queue()
    queue.put("through")
    print(queue.get(timeout=3))
# > [0, 1, 4, 9, 16]
# > 3
# > through
