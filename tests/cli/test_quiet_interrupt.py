from __future__ import annotations

import logging

import pytest

from livejoin.cli.quiet_interrupt import quiet_interrupt


def test_what_the_bridge_says_of_an_interrupt(caplog: pytest.LogCaptureFixture) -> None:
    def cut_off() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            msg = "cut off"
            raise OSError(msg) from error

    with pytest.raises(KeyboardInterrupt), quiet_interrupt():
        logging.getLogger().handle(logging.LogRecord("root", logging.ERROR, "/lib/py4j/x.py", 1, "sending", (), None))
        logging.error("of another")
        cut_off()
    assert caplog.messages == ["of another"]
    with pytest.raises(OSError, match="its own"), quiet_interrupt():
        raise OSError("its own")
    logging.getLogger().handle(logging.LogRecord("root", logging.ERROR, "/lib/py4j/x.py", 1, "behind", (), None))
    assert caplog.messages == ["of another", "behind"]
