"""Much memory, and less than it may have."""

block = bytearray(200 << 20)
block[::4096] = b"\1" * len(block[::4096])
print(sum(block[::4096]))
# > 51200
# large
