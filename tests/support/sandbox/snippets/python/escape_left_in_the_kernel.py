"""Shared memory, semaphores and queues that would outlive it."""

from attacking import attempt, outside, syscall

key = outside["key"]
attempt("memory", syscall, "shmget", key, 1 << 20, 0o1666)
attempt("semaphores", syscall, "semget", key, 4, 0o1666)
attempt("queue", syscall, "msgget", key, 0o1666)
attempt("private memory", syscall, "shmget", 0, 1 << 20, 0o1600)
attempt("POSIX queue", syscall, "mq_open", outside["tag"].encode(), 0o102, 0o666, 0)
