"""Every SELECT that the tests of this folder bind shows what each pass needs and leaves."""

from __future__ import annotations

import pytest

from livejoin.sql.bind.passes import Pass, PassRewriter, well_formed
from livejoin.sql.resolved.query import SelectBlock


@pytest.fixture(autouse=True)
def checked_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check what a pass leaves, and that it keeps the outputs."""
    run = PassRewriter._run

    def checked(self: PassRewriter, one: Pass, block: SelectBlock) -> SelectBlock:
        assert well_formed(block), f"before {one.name}: {block}"
        found = run(self, one, block)
        assert well_formed(found), f"behind {one.name}: {found}"
        assert one.holds(found), f"{one.name} leaves {one.leaves}: {found}"
        assert [item.name for item in found.outputs] == [item.name for item in block.outputs], one.name
        return found

    monkeypatch.setattr(PassRewriter, "_run", checked)
