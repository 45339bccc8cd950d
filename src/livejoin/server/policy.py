"""What a browser may do with an answer: run, show and ask nothing that is not of the server."""

from __future__ import annotations


def policy(forms: str = "'none'") -> str:
    """The content policy; ``forms`` says where forms may be sent.

    >>> policy().split("; ")[1:3]
    ["script-src 'self'", "style-src 'self'"]
    """
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"base-uri 'none'; form-action {forms}; frame-ancestors 'none'"
    )
