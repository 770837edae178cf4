"""Digests, compressed bytes, chance."""

import bz2
import hashlib
import hmac
import lzma
import os
import random
import secrets
import uuid
import zlib

print(hashlib.sha256(b"hello").hexdigest()[:16], hmac.new(b"k", b"m", "sha1").hexdigest()[:8])
print(zlib.decompress(zlib.compress(b"x" * 1000)) == bz2.decompress(bz2.compress(b"x" * 1000)) == b"x" * 1000)
print(lzma.decompress(lzma.compress(b"y")), len(os.urandom(8)), len(secrets.token_hex(4)), uuid.uuid4().version)
print(random.Random(3).randint(0, 99), len({random.random() for _ in range(50)}))
# > 2cf24dba5fb0a30e 772b71c8
# > True
# > b'y' 8 8 4
# > 30 50
