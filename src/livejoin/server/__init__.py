"""The server: a database over HTTP, for every program that can ask and listen."""

from importlib.util import find_spec

_PACKAGES = ("starlette", "uvicorn", "httptools", "websockets", "prometheus_client")
_MISSING = [name for name in _PACKAGES if not find_spec(name)]
if _MISSING:
    msg = f"the server needs {', '.join(_MISSING)}, which are not installed: pip install 'livejoin[serve]'"
    raise ImportError(msg)

from livejoin.server.access import Access, Who, read_tokens  # noqa: E402  # after the message
from livejoin.server.app import app  # noqa: E402
from livejoin.server.lifespan import lifespan  # noqa: E402
from livejoin.server.limits import Limits  # noqa: E402
from livejoin.server.run import Server, serve  # noqa: E402

__all__ = ["Access", "Limits", "Server", "Who", "app", "lifespan", "read_tokens", "serve"]
