"""HTTP/1.1 as a client: addresses, one answer read without I/O, connections, and what can go wrong."""
