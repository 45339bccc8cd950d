"""Digests of runs of bytes, as Spark's functions of these names give them; none of them is there for secrets."""

from __future__ import annotations

import base64
import hashlib

_LINE = 76


def md_5(run: bytes) -> str:
    """MD5, as 32 hexadecimal digits.

    >>> md_5(b"Spark")
    '8cde774d6f7333752ed72cacddb05126'
    """
    return hashlib.md5(run, usedforsecurity=False).hexdigest()


def sha_1(run: bytes) -> str:
    """SHA-1, as 40 hexadecimal digits."""
    return hashlib.sha1(run, usedforsecurity=False).hexdigest()


def sha_2(run: bytes, bits: int) -> str | None:
    """The digest of SHA-2 of some bits; 0 is 256, and there is none of other numbers than 224, 256, 384 and 512."""
    made = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}
    return made[bits](run).hexdigest() if bits in made else None


def base_64(run: bytes) -> str:
    """Base 64, in lines of 76 characters as in MIME.

    >>> base_64(b"Spark SQL"), base_64(bytes(58))[-6:]
    ('U3BhcmsgU1FM', '\\r\\nAA==')
    """
    text = base64.b64encode(run).decode("ascii")
    return "\r\n".join(text[start : start + _LINE] for start in range(0, len(text), _LINE))
