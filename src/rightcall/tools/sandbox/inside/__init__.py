"""What runs in the fork server and below it: the standard library alone, nothing else of ours, Python 3.9 or later.

boot ─▶ server ─▶ supervisor ─▶ namespaces (pid 1) ─▶ confine ─▶ program
        (fork)    (fork)        (fork)
"""
