"""A store behind HTTP as one process sees it: obstore, through a proxy that loses and doubles requests.

The store is that of `object_server`, or a real server of S3 on this machine, if ``LIVEJOIN_S3`` has its address.
"""

from __future__ import annotations

import os
import random
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from unittest import mock
from urllib.parse import urlsplit

from faulty_proxy import FaultyProxy
from livejoin.state.objects import ObstoreObjects
from memory_objects import Sight
from object_server import BUCKET, environment_of_google, environment_of_s3, object_server


class ProxiedObjects(ObstoreObjects):
    """As `memory_objects.Seen`.

    Args:
        url: The place in the store.
        proxy: The way to it.
    """

    def __init__(self, url: str, proxy: FaultyProxy) -> None:
        self._proxy = proxy
        environment = environment_of_google if url.startswith("gs:") else environment_of_s3
        with mock.patch.dict(os.environ, environment(proxy.url)):
            super().__init__(url)

    @property
    def chance(self) -> float:
        return self._proxy.chance

    @chance.setter
    def chance(self, chance: float) -> None:
        self._proxy.chance = chance

    @property
    def happened(self) -> Counter[str]:
        return self._proxy.happened

    @property
    def is_dead(self) -> bool:
        return self._proxy.is_dead

    @is_dead.setter
    def is_dead(self, is_dead: bool) -> None:
        self._proxy.is_dead = is_dead

    def kill(self) -> None:
        self._proxy.is_dead = True

    def land(self) -> None:
        self._proxy.land()


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of an S3 with a bucket."""
    given = os.environ.get("LIVEJOIN_S3")
    if given is None:
        with object_server() as server:
            yield server.url
        return
    with suppress(urllib.error.HTTPError):  # it is there
        urllib.request.urlopen(urllib.request.Request(f"{given}/{BUCKET}", method="PUT")).close()
    yield given


@contextmanager
def behind_proxies(scheme: str = "s3") -> Iterator[Sight]:
    """A new place in a store, as processes see it."""
    place = f"{scheme}://{BUCKET}/{uuid.uuid4().hex}"
    with ExitStack() as stack:
        port = urlsplit(stack.enter_context(endpoint())).port
        assert port is not None

        def seen(draw: random.Random, chance: float) -> ProxiedObjects:
            proxy = FaultyProxy(port, draw, chance)
            stack.callback(proxy.close)
            return ProxiedObjects(place, proxy)

        yield seen
