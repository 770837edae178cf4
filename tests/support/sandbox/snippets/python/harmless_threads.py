"""Threads, a pool of them and a queue."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(len, ["a", "bb", "ccc"])))
box = queue.Queue()
threads = [threading.Thread(target=box.put, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(box.get() for _ in threads))
# > 6
# > [0, 1, 2, 3, 4, 5, 6, 7]
