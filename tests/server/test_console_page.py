"""The console in a browser: what a commit changes, a server that goes away and comes back, tokens, hostile names."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import livejoin
from devtools import BROWSER, Page, browser_page
from livejoin.server import Server, Who
from livejoin.server.access import Tokens

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.timeout(180),
]
WIDE = 2**60 + 1
CELLS = "[...document.querySelectorAll('regular-table tbody tr')].map((row) => row.children[{}])"
HOSTILE = '<img src=x onerror="document.title=1">'

SQL = """
    CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(12, 2));
    CREATE TABLE customers (name STRING PRIMARY KEY, country STRING);
    CREATE VIEW totals AS SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY customer;
    CREATE VIEW foreign_ones AS SELECT o.id, c.country FROM orders o JOIN customers c ON o.customer = c.name
        WHERE c.country <> 'DE'
"""


@pytest.fixture
def shop() -> livejoin.Database:
    db = livejoin.Database()
    db.execute(SQL)
    db.apply("customers", [("Ann", "DE"), ("Bob", "FR")])
    return db


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """A page with nothing kept; nothing may go wrong in it that a test does not expect."""
    browser.open("about:blank")
    browser.told.clear()
    browser.look(1200, 800)
    yield browser
    browser.run("location.protocol.startsWith('http') && sessionStorage.clear()")
    browser.open("about:blank")
    # The server may be gone before, and a page of JSON has no picture for its tab.
    assert not [one for one in browser.told if "net::ERR_CONNECTION" not in one and "favicon.ico" not in one]


def shown(page: Page, server: Server, place: str) -> None:
    page.open(f"{server.url}/#/{place}")
    page.until("document.body.dataset.state === 'live'")


def cells(page: Page, column: int = 0) -> list[str]:
    script = (
        f"[...document.querySelectorAll('regular-table tbody tr')].map((row) => row.children[{column}]?.textContent)"
    )
    found: list[str] = page.run(script)
    return found


def until_cells(page: Page, wanted: list[str], column: int = 0) -> None:
    script = (
        f"[...document.querySelectorAll('regular-table tbody tr')].map((row) => row.children[{column}]?.textContent)"
    )
    page.until(
        f"JSON.stringify({script}) === {json.dumps(json.dumps(wanted, ensure_ascii=False, separators=(',', ':')))}"
    )


def write(page: Page, text: str) -> None:
    """Replace what stands in the editor."""
    page.until("document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content') != null")
    page.run("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
    page.press("a", "KeyA", modifiers=2, windowsVirtualKeyCode=65, commands=["selectAll"])
    page.type(text)


def drop(page: Page, name: str, content: bytes) -> None:
    """Drop a file on the page."""
    page.run(f"""{{
        const bytes = Uint8Array.from(atob("{base64.b64encode(content).decode()}"), (one) => one.charCodeAt(0));
        const given = new DataTransfer();
        given.items.add(new File([bytes], {json.dumps(name)}));
        const event = new DragEvent("drop", {{ dataTransfer: given, bubbles: true, cancelable: true }});
        document.querySelector(".place").dispatchEvent(event);
    }}""")


def press(page: Page, text: str) -> None:
    """Press the button with a text, in the dialog that is open or else on the page."""
    page.until(f"""(() => {{
        const found = [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button")]
            .find((one) => one.textContent.trim() === {json.dumps(text)} && !one.disabled && !one.hidden);
        found?.click();
        return found !== undefined;
    }})()""")


def test_a_commit_changes_graph_grid_and_figures(page: Page, shop: livejoin.Database) -> None:
    with Server(shop, port=0) as server:
        shown(page, server, "graph")
        box = "document.getElementById('box t orders')"
        page.until(f"{box}?.textContent.includes('0 rows')")
        shop.apply("orders", [(1, "Ann", "1234567.50"), (2, "Ann", "1.00")], coerce="json")
        page.until(f"{box}.textContent.includes('2 rows') && {box}.textContent.includes('changes/s')")
        # Ann is no foreigner: the changes reach the join and end there
        join = "document.querySelector('.box.block[aria-label^=join]')"
        page.until(f"{join}.textContent.includes('→ 0/s')")
        page.until("document.getElementById('box v totals').textContent.includes('1 row')")
        page.run(f"{join}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))")
        page.until("document.querySelector('.detail').innerText.includes('Commits that ended here')")
        assert "Joins what it reads" in page.run("document.querySelector('.detail').innerText")
        assert page.run(
            "[...document.querySelectorAll('.box.view.apart .title')].map((one) => one.firstChild.data)"
        ) == ["totals"]

        shown(page, server, "view/totals")
        until_cells(page, ["Ann"])
        assert cells(page, 2) == ["1,234,568.50"]
        shop.apply("orders", [(3, "Bob", "5.25"), (4, "Ann", "1.00")], coerce="json")
        until_cells(page, ["Ann", "Bob"])
        until_cells(page, ["3", "1"], 1)
        assert page.run("document.querySelectorAll('[class*=flash]').length") >= 3
        shop.execute("DELETE FROM orders WHERE customer = 'Ann'")
        until_cells(page, ["Bob"])
        page.until("document.querySelector('.said').textContent.startsWith('1 row · version 4')")

        page.run("document.getElementById('tab-actual').click()")
        press(page, "Begin, and show it")
        page.until("document.querySelector('.panel pre')?.textContent.startsWith('predicted against actual') ?? false")
        press(page, "Stop counting")
        page.run("document.getElementById('tab-picture').click()")
        page.until("document.querySelector('.picture')?.naturalWidth > 50")

        shown(page, server, "health")
        page.until("document.querySelector('.health').innerText.includes('4 versions so far')")
        assert "#1" in page.text()


def test_a_server_that_goes_away_and_comes_back(page: Page, shop: livejoin.Database) -> None:
    with Server(shop, port=0) as server:
        port = int(server.url.rpartition(":")[2])
        shop.apply("orders", [(1, "Ann", "1.00")], coerce="json")
        shown(page, server, "view/totals")
        until_cells(page, ["Ann"])
    page.until("!document.querySelector('.banner').hidden")
    assert "does not answer since" in page.text()
    assert "no answer" in page.text()
    page.told.clear()  # what failed is told there
    shop.apply("orders", [(2, "Bob", "1.00")], coerce="json")
    with Server(shop, port=port):
        page.until("document.body.dataset.state === 'live'", 30)
        until_cells(page, ["Ann", "Bob"])
        assert page.run("document.querySelector('.banner').hidden")
        shop.apply("orders", [(3, "Zoë", "1.00")], coerce="json")
        until_cells(page, ["Ann", "Bob", "Zoë"])
        page.told.clear()
    page.open("about:blank")
    page.told.clear()


def test_a_view_is_live_again_before_the_next_commit(page: Page, shop: livejoin.Database) -> None:
    """Who comes back and knows all rows is told no change: the answer itself says that it is heard."""
    shop.apply("orders", [(1, "Ann", "1.00")], coerce="json")
    with Server(shop, port=0) as server:
        port = int(server.url.rpartition(":")[2])
        shown(page, server, "view/totals")
        until_cells(page, ["Ann"])
    said = "document.querySelector('.one .said').textContent"
    page.until(f"{said}.startsWith('the connection broke')")
    page.told.clear()  # what failed is told there
    with Server(shop, port=port):
        page.until(f"{said} === '1 row · version 2 · live'", 30)
        assert not page.run("document.querySelector('.one').classList.contains('stale')")
        page.told.clear()
        page.open("about:blank")
    page.told.clear()


def test_a_graph_on_a_phone_is_as_wide_as_the_phone(page: Page, shop: livejoin.Database) -> None:
    """It begins with a table, no box stands on another one, and none is cut off at the right."""
    for number in range(14):
        shop.create_view(
            f"v{number}", f"SELECT customer, COUNT(*) AS n FROM orders WHERE id > {number} GROUP BY customer"
        )
    with Server(shop, port=0) as server:
        for width in (360, 390, 600):
            page.look(width, 844)
            page.open("about:blank")
            shown(page, server, "graph")
            page.until("document.querySelectorAll('.box').length === 49")
            page.until("""(() => {
                const canvas = document.querySelector('.canvas'), room = canvas.getBoundingClientRect();
                const boxes = [...canvas.querySelectorAll('.box .outline')].map((one) => one.getBoundingClientRect());
                const first = canvas.querySelector('.box.table').getBoundingClientRect();
                const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
                return first.top >= room.top && first.bottom <= room.bottom
                    && boxes.every((one) => one.left >= room.left && one.right <= room.right)
                    && !boxes.some((one, at) => boxes.some((other, place) => place > at && meets(one, other)));
            })()""")


def test_cells_are_reached_by_arrow_keys(page: Page) -> None:
    """Of a view that is larger than the screen, by a key that pages too; Enter asks why a row is there."""
    db = livejoin.Database()
    db.execute("CREATE TABLE r (k BIGINT PRIMARY KEY, a BIGINT); CREATE VIEW v AS SELECT k, a FROM r WHERE k >= 0")
    db.apply("r", [(i, i % 7) for i in range(60_000)])
    here = "(document.activeElement.closest('td') ?? {}).textContent"
    with Server(db, port=0) as server:
        shown(page, server, "view/v")
        page.until("document.querySelectorAll('regular-table tbody tr').length > 5")
        page.run("document.querySelector('regular-table').focus()")
        for key, wanted in (("ArrowDown", "0"), ("ArrowDown", "1"), ("ArrowRight", "1"), ("ArrowLeft", "1")):
            page.press(key)
            page.until(f"{here} === '{wanted}'")
        page.press("End")
        page.until(f"{here} === '59999'")
        page.press("ArrowUp")
        page.until(f"{here} === '59998'")
        page.press("Home")
        page.until(f"{here} === '0'")
        page.press("Enter")
        page.until("document.activeElement.textContent === 'Why this row?'")


def test_no_place_is_wider_than_a_narrow_phone(page: Page, shop: livejoin.Database) -> None:
    with Server(shop, port=0) as server:
        page.look(360, 740)
        for place in ("graph", "view/totals", "sql", "health"):
            shown(page, server, place)
            page.until("document.querySelector('h1, h2') !== null")
            assert page.run("[innerWidth, document.documentElement.scrollWidth]") == [360, 360], place


def test_a_row_is_asked_why(page: Page, shop: livejoin.Database) -> None:
    shop.apply("orders", [(WIDE, "Ann", Decimal(5)), (8, "Ann", Decimal(2)), (9, "Bob", Decimal(1))])
    with Server(shop, port=0) as server:
        shown(page, server, "view/totals")
        until_cells(page, ["Ann", "Bob"])
        page.run("document.querySelector('regular-table tbody td').click()")
        press(page, "Why this row?")
        answer = "document.querySelector('.explained [role=status] pre')"
        page.until(f"{answer}?.textContent.includes('2 combinations') ?? false")
        said = page.run(f"{answer}.textContent")
        assert f"id = {WIDE}" in said
        page.run("document.querySelector('.question input').value = '{\"customer\": \"Eve\"}'")
        press(page, "Why is it there?")
        page.until("document.querySelector('.explained .bad')?.textContent.includes('why_not') ?? false")
        press(page, "Why is it not?")
        page.until(f"{answer}?.textContent.includes('no row of orders') ?? false")
        page.told.clear()  # the answer 400


def test_a_view_with_order_by_stands_in_its_order(page: Page, shop: livejoin.Database) -> None:
    amounts = {"Ann": "5.00", "Bob": "70.00", "Cy": None, "Dan": "6.00"}
    shop.apply("orders", [(i, name, amount) for i, (name, amount) in enumerate(amounts.items())], coerce="json")
    best = "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer"
    shop.execute(f"CREATE VIEW best AS {best} ORDER BY total DESC, customer LIMIT 3")
    shop.execute(f"CREATE VIEW least AS {best} ORDER BY total ASC NULLS LAST")
    with Server(shop, port=0) as server:
        shown(page, server, "view/best")
        until_cells(page, ["Bob", "Dan", "Ann"])
        shop.apply("orders", [(9, "Ann", "2.00")], coerce="json")
        until_cells(page, ["Bob", "Ann", "Dan"])
        page.run(
            "document.querySelector('regular-table thead th').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        )
        until_cells(page, ["Ann", "Bob", "Dan"])
        shown(page, server, "view/least")
        until_cells(page, ["Dan", "Ann", "Bob", "Cy"])


def test_an_assertion_is_marked(page: Page, shop: livejoin.Database) -> None:
    shop.execute("CREATE ASSERTION dear CHECK (NOT EXISTS (SELECT id FROM orders WHERE amount < 0))")
    with Server(shop, port=0) as server:
        shown(page, server, "graph")
        page.until("document.getElementById('box v dear') !== null")
        assert page.run("document.getElementById('box v dear').classList.contains('assertion')")
        assert page.run("document.querySelector('#box\\\\ v\\\\ dear .what').textContent") == "assertion"
        shown(page, server, "view/dear")
        page.until("document.querySelector('.names a[aria-current] .mark')?.textContent === 'assertion'")
        assert "a commit that would give it one is refused" in page.text()
        assert page.run("document.querySelectorAll('.names .mark').length") == 1


def test_what_is_under_way_is_not_begun_again(page: Page, shop: livejoin.Database) -> None:
    """Neither by a second press nor by Enter: one view is created, one file loaded."""
    with Server(shop, port=0) as server:
        shown(page, server, "sql")
        asked = "performance.getEntriesByType('resource').filter((one) => one.name.includes('{}')).length"
        again = "for (let i = 0; i < 3; i++) document.querySelector('dialog[open] form').requestSubmit()"
        write(page, "SELECT customer FROM orders WHERE amount > 2")
        press(page, "Create view…")
        page.run("document.querySelector('dialog[open] input').value = 'twice'")
        page.run(again)
        assert page.run("document.querySelector('dialog[open] .primary').disabled")
        page.until("location.hash === '#/view/twice'")
        assert page.run(asked.format("v1/execute")) == 1
        page.until("document.querySelector('.one .said').textContent.endsWith('live')")
        page.told.clear()  # the answer 409: it has no key
        shown(page, server, "sql")
        page.until("document.querySelector('.editor')?.shadowRoot != null")
        drop(page, "orders.csv", b"id,customer,amount\r\n1,Ann,1.50\r\n")
        page.until("document.querySelector('dialog[open] select')?.value === 'orders'")
        page.run(again)
        page.until("document.querySelector('.said').textContent.startsWith('orders.csv:')")
        assert page.run(asked.format("v1/tables/orders?")) == 1


def test_what_is_wider_than_a_screen_scrolls_and_shows_it(page: Page, shop: livejoin.Database) -> None:
    for i in range(4):
        shop.execute(
            f"CREATE VIEW more{i} AS SELECT customer, COUNT(*) AS n FROM orders WHERE id > {i} GROUP BY customer"
        )
    with Server(shop, port=0) as server:
        page.look(730, 844)
        shown(page, server, "graph")
        page.until("document.querySelector('.canvas').classList.contains('more-right')")
        page.run("document.querySelector('.canvas').scrollLeft = 1e6")
        page.until("document.querySelector('.canvas').classList.contains('more-left')")
        page.until("!document.querySelector('.canvas').classList.contains('more-right')")
        page.look(390, 844)
        shown(page, server, "health")
        page.until("document.querySelector('.wide tbody tr') !== null")
        cut = "[...document.querySelectorAll('.list')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
        assert page.run(cut) == 0  # a table that is too wide scrolls in its frame, which is in the order of keys
        assert page.run("[...document.querySelectorAll('.wide')].every((one) => one.tabIndex === 0)")
        assert page.run("document.documentElement.scrollWidth") == 390


def test_a_token_is_asked_for_once_and_is_in_no_address(page: Page, shop: livejoin.Database) -> None:
    secret = "s3cr3t-t0ken"
    known = [(hashlib.sha256(secret.encode()).hexdigest(), Who("page", frozenset(("totals",)), frozenset()))]
    with Server(shop, port=0, access=Tokens(known)) as server:
        shop.apply("orders", [(1, "Ann", "1.00")], coerce="json")
        page.open(f"{server.url}/#/view/totals")
        page.until("document.querySelector('dialog[open] input') !== null")
        page.run("document.querySelector('dialog input').value = 'wrong'")
        press(page, "Go on")
        page.until("document.querySelector('dialog[open]')?.innerText.includes('does not know this token') ?? false")
        page.run(f"document.querySelector('dialog[open] input').value = {json.dumps(secret)}")
        press(page, "Go on")
        until_cells(page, ["Ann"])
        page.told.clear()  # the answers 401
        page.open("about:blank")
        shown(page, server, "graph")  # in the same tab it is known
        page.until("document.getElementById('box v totals') !== null")
        assert page.run("document.querySelector('dialog') === null")
        assert "foreign_ones" not in page.text()
        addresses = page.run(
            "[location.href, ...performance.getEntriesByType('resource').map((one) => one.name)].join(' ')"
        )
        assert "/v1/stats" in addresses
        assert secret not in addresses
        press(page, "Forget token")
        page.until("document.querySelector('dialog[open] input') !== null")
        page.told.clear()


def test_names_and_values_stay_text(page: Page) -> None:
    db = livejoin.Database()
    db.execute(f"CREATE TABLE `{HOSTILE}` (id BIGINT PRIMARY KEY, `{HOSTILE}2` STRING, big BIGINT, x DOUBLE)")
    db.execute(f"CREATE VIEW `{HOSTILE}v` AS SELECT * FROM `{HOSTILE}`")
    rows = [(1, HOSTILE, WIDE, 0.1), (2, None, None, None), (3, "NULL", -WIDE, 1e300), (4, "", 0, float("nan"))]
    db.apply(HOSTILE, rows)
    with Server(db, port=0) as server:
        shown(page, server, "graph")
        page.until(f"document.getElementById({json.dumps('box t ' + HOSTILE)})?.textContent.includes('<img')")
        page.run("document.querySelector('.box.view').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        page.until("document.querySelector('.detail').innerText.includes('<img')")
        page.run("document.querySelector('.detail a.button').click()")
        until_cells(page, ["1", "2", "3", "4"])
        assert cells(page, 1) == [HOSTILE, "NULL", "NULL", ""]
        assert page.run(f"{CELLS.format(1)}.map((one) => one.className.includes('null'))") == [
            False,
            True,
            False,
            False,
        ]
        assert cells(page, 2) == [f"{WIDE:,}", "NULL", f"{-WIDE:,}", "0"]
        assert cells(page, 3) == ["0.1", "NULL", "1e+300", "NaN"]
        shown(page, server, "sql")
        write(page, f"SELECT id, `{HOSTILE}2` AS text FROM `{HOSTILE}` WHERE id = 1")
        page.until("document.querySelector('.headline') !== null")
        press(page, "Run")
        until_cells(page, [HOSTILE], 1)
        assert page.run("document.querySelectorAll('img[src=x]').length") == 0
        assert page.run("document.title") == "SQL · livejoin"


def test_sql_is_explained_run_and_made_a_view(page: Page, shop: livejoin.Database) -> None:
    shop.apply("orders", [(1, "Ann", "1.50"), (2, "Bob", "2.50")], coerce="json")
    with Server(shop, port=0) as server:
        shown(page, server, "sql")
        write(page, "SELECT customer FROM orders WHERE amount > 2 AND wrong = 1")
        page.until("document.querySelector('.advice .bad')?.textContent.includes('wrong') ?? false")
        page.until(
            "document.querySelector('.editor').shadowRoot.querySelector('.cm-lintRange-error')?.textContent === 'wrong'"
        )
        page.told.clear()  # the answer 400
        write(page, "SELECT customer FROM orders WHERE amount > 2")
        page.until("document.querySelector('.headline')?.textContent.length > 20")
        page.press("Enter", "Enter", modifiers=2)
        until_cells(page, ["Bob"])
        press(page, "Create view…")
        page.run("document.querySelector('dialog[open] input').value = 'large ones'")
        press(page, "Create")
        page.until("location.hash === '#/view/large%20ones'")
        until_cells(page, ["Bob"])
        shop.apply("orders", [(3, "Zoë", "9.00")], coerce="json")
        until_cells(page, ["Bob", "Zoë"])
        press(page, "Drop view…")
        press(page, "Drop it")
        page.until("document.querySelector('.note')?.textContent.includes('was dropped') ?? false")
        assert "large ones" not in shop.views
        shop.execute("CREATE VIEW `large ones` AS SELECT customer FROM orders WHERE amount > 5")
        until_cells(page, ["Zoë"])
        assert page.run("document.querySelector('.note').hidden")
        page.told.clear()  # the answer 404 to who follows


def test_names_are_completed(page: Page, shop: livejoin.Database) -> None:
    with Server(shop, port=0) as server:
        shown(page, server, "sql")
        write(page, "SELECT  FROM orders")
        for _ in range(12):
            page.press("ArrowLeft")
        page.press("a", "KeyA")
        page.press("m", "KeyM")
        listed = "document.querySelector('.editor').shadowRoot.querySelector('.cm-tooltip-autocomplete')"
        page.until(f"{listed}?.textContent.includes('amount') ?? false")
        page.press("Escape")
        page.told.clear()  # what is not whole yet


def test_files_are_loaded(page: Page, shop: livejoin.Database) -> None:
    table = pa.table(
        {"id": pa.array([WIDE]), "customer": ["arrow"], "amount": pa.array(["7.00"]).cast(pa.decimal128(12, 2))}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    files = {
        "orders.csv": b'id,customer,amount\r\n1,"a ""b"", c",1.50\r\n2,,\r\n3,"",0\r\n',
        "orders.jsonl": b'{"id": 4, "customer": "NULL", "amount": 12345678.25}\n\n{"id": 5}\n',
        "orders.json": f'[{{"id": {WIDE - 1}, "customer": "x,]", "amount": "1"}}]'.encode(),
        "orders.arrow": sink.getvalue().to_pybytes(),
    }
    with Server(shop, port=0) as server:
        shown(page, server, "sql")
        page.until("document.querySelector('.editor')?.shadowRoot != null")
        for name, content in files.items():
            drop(page, name, content)
            page.until("document.querySelector('dialog[open] select')?.value === 'orders'")
            press(page, "Load")
            page.until(f"document.querySelector('.said').textContent.startsWith({json.dumps(f'{name}:')})")
        drop(page, "orders.csv", files["orders.csv"])
        press(page, "Load")
        page.until("document.querySelector('dialog[open] [role=alert]')?.textContent.includes('key') ?? false")
        press(page, "Cancel")
        page.until("document.querySelector('dialog') === null")
        drop(page, "many.parquet", b"PAR1....PAR1")
        page.until("document.querySelector('.said').textContent.includes('Parquet')")
        drop(page, "new.csv", b"k;when;share\n1;2024-01-02;0.5\n2;2024-01-03;1\n")
        page.until("document.querySelector('dialog[open] textarea')?.value.includes('`when` DATE') ?? false")
        press(page, "Load")
        page.until("document.querySelector('.said').textContent.startsWith('new.csv: 2 rows into new')")
        page.told.clear()  # the answer 409
    with shop.snapshot() as at:
        rows = at["orders"].to_arrow().sort_by("id").to_pylist()
        assert [
            (row["id"], row["customer"], row["amount"] if row["amount"] is None else str(row["amount"])) for row in rows
        ] == [
            (1, 'a "b", c', "1.50"),
            (2, None, None),
            (3, "", "0.00"),
            (4, "NULL", "12345678.25"),
            (5, None, None),
            (WIDE - 1, "x,]", "1.00"),
            (WIDE, "arrow", "7.00"),
        ]
        assert [str(row["when"]) for row in at["new"].to_arrow().to_pylist()] == ["2024-01-02", "2024-01-03"]


def test_the_keyboard_is_enough(page: Page, shop: livejoin.Database) -> None:
    with Server(shop, port=0) as server:
        shown(page, server, "view/totals")
        page.press("g", "KeyG", modifiers=1)
        page.until("document.getElementById('box t orders') !== null")
        page.run("document.getElementById('box t orders').focus()")
        page.press("ArrowRight")
        assert page.run("document.activeElement.classList.contains('block')")
        chosen = page.run("document.activeElement.id")
        page.press("Enter")
        page.until("!document.querySelector('.detail').hidden && document.activeElement.closest('.detail') !== null")
        page.press("Enter")  # the button that closes it
        page.until("document.querySelector('.detail').hidden")
        assert page.run("document.activeElement.id") == chosen
        page.press("Enter")
        page.until("!document.querySelector('.detail').hidden && document.activeElement.closest('.detail') !== null")
        page.press("Escape")
        page.until("document.querySelector('.detail').hidden")
        assert page.run("document.activeElement.id") == chosen
        controls = (
            "[...document.querySelectorAll('button, [role=button], input, [role=tab]')].filter((one) => !one.hidden)"
        )
        names = page.run(f"{controls}.map((one) => one.getAttribute('aria-label') || one.textContent.trim())")
        assert names
        assert all(names)


def test_rows_are_sorted_filtered_and_read_page_by_page(page: Page, shop: livejoin.Database) -> None:
    shop.apply("orders", [(k, f"c{k % 20}", str(k)) for k in range(3000)], coerce="json")
    with Server(shop, port=0) as server:
        shown(page, server, "view/totals")
        page.until("document.querySelectorAll('regular-table tbody tr').length > 10")
        head = "document.querySelectorAll('regular-table thead th')[2]"
        page.run(f"{head}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))")
        page.until(f"{head}.getAttribute('aria-sort') === 'ascending'")
        assert cells(page)[:2] == ["c0", "c1"]
        page.run("document.querySelector('input[type=search]').focus()")
        page.type("C1")
        page.until("document.querySelector('.said').textContent.startsWith('11 rows of 20')")
        shown(page, server, "table/orders")
        page.until("document.querySelector('.said').textContent.startsWith('3,000 rows')")
        last = "{ const all = document.querySelector('regular-table'); all.scrollTop = all.scrollHeight; }"
        seen = "[...document.querySelectorAll('regular-table tbody td.key:not(.beyond)')].at(-1)?.textContent"
        page.until(f"{last} {seen} === '2999'")
        shop.apply("orders", [(5000, "last", "1")], coerce="json")
        page.until("document.querySelector('.said').textContent.startsWith('3,001 rows')")


def test_less_motion_and_dark(page: Page, shop: livejoin.Database, tmp_path: Path) -> None:
    with Server(shop, port=0) as server:
        page.look(380, 760, "dark", "reduce")
        shown(page, server, "graph")
        page.until("document.getElementById('box t orders') !== null")
        began = time.monotonic()
        shop.apply("orders", [(1, "Bob", "1")], coerce="json")
        page.until("document.querySelector('.edge.went') !== null")
        assert time.monotonic() - began < 10
        assert page.run("document.getAnimations().length") == 0
        assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
        assert page.run("document.documentElement.scrollWidth") <= 380
        page.picture(tmp_path / "seen.png")
        assert (tmp_path / "seen.png").stat().st_size > 5000


SHOP = """
    CREATE TABLE people (id BIGINT PRIMARY KEY, name STRING, land STRING);
    CREATE TABLE lands (code STRING PRIMARY KEY, region STRING);
    CREATE TABLE bought (id BIGINT PRIMARY KEY, person BIGINT NOT NULL, amount BIGINT);
    CREATE TABLE lines (bought BIGINT NOT NULL, product BIGINT NOT NULL, number INT);
    CREATE TABLE products (id BIGINT PRIMARY KEY, title STRING);
    CREATE VIEW spent AS SELECT land, SUM(amount) AS s FROM bought b JOIN people p ON b.person = p.id GROUP BY land;
    CREATE VIEW sold AS SELECT b.id, p.name, r.title, l.number FROM bought b JOIN people p ON b.person = p.id
        JOIN lines l ON l.bought = b.id JOIN products r ON l.product = r.id;
    CREATE VIEW best AS SELECT land, s FROM spent ORDER BY s DESC LIMIT 3;
    CREATE VIEW regions AS SELECT region, COUNT(*) AS n FROM people p JOIN lands l ON p.land = l.code GROUP BY region;
    CREATE VIEW unsold AS SELECT title FROM products p WHERE NOT EXISTS (SELECT 1 FROM lines l WHERE l.product = p.id);
"""
TREE = "Accessibility.getFullAXTree"
NAMED = {"button", "link", "textbox", "searchbox", "tab", "combobox", "checkbox", "grid", "list", "listitem", "img"}


def boxes(page: Page) -> list[list[float]]:
    """Left, top, right and bottom of each box of the graph."""
    script = "[...document.querySelectorAll('.box .outline')].map((one) => one.getBoundingClientRect())"
    found: list[list[float]] = page.run(f"{script}.map((one) => [one.left, one.top, one.right, one.bottom])")
    return found


def tab(page: Page, wanted: str, most: int = 60) -> None:
    """Press Tab until what has the focus is what a selector says."""
    for _ in range(most):
        if page.run(f"document.activeElement?.matches({json.dumps(wanted)}) ?? false"):
            return
        page.press("Tab", "Tab")
    pytest.fail(f"Tab does not lead to {wanted}")


def test_a_suggestion_is_tried(page: Page) -> None:
    """A declaration is supposed, its verdict shown with what it takes, and nothing is changed; by the keyboard."""
    db = livejoin.Database()
    db.execute("CREATE TABLE a (x BIGINT, v BIGINT); CREATE TABLE b (x BIGINT, y BIGINT); CREATE TABLE c (y BIGINT)")
    db.apply({"a": [(i, i) for i in range(30)], "b": [(i, i) for i in range(30)], "c": [(i,) for i in range(30)]})
    with Server(db, port=0) as server:
        shown(page, server, "sql")
        write(page, "SELECT a.v, b.x, c.y FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y")
        page.until("document.querySelector('.better button') !== null")
        before = page.run("document.querySelector('.headline').textContent")
        page.press("Escape")
        page.run("document.querySelector('.better').closest('aside').setAttribute('tabindex', '-1')")
        page.run("document.querySelector('.better').closest('aside').focus()")
        tab(page, ".better button")
        page.press("Enter")
        page.until("document.querySelector('.advice h2').textContent === 'As a view, if that were declared'")
        said = page.run("document.querySelector('.advice').innerText")
        assert "To have it" in said
        assert "Nothing was changed" in said
        assert page.run("document.querySelector('.headline').textContent") != before
        assert page.run("document.activeElement.tagName") == "H2"
        assert "declaration" in page.run("document.getElementById('announcements').textContent")
        tab(page, ".advice .buttons button")
        assert page.run("document.activeElement.textContent") == "Back to what is declared"
        page.press("Enter")
        page.until("document.querySelector('.advice h2').textContent === 'As a view'")
        assert page.run("document.querySelector('.headline').textContent") == before
        assert not any(table.primary_key or table.static or table.append_only for table in db.tables.values())
        page.told.clear()  # the texts on the way that are no query yet


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_graph_of_a_shop_fits(page: Page, width: int, height: int) -> None:
    """No box lies on another one; on a screen all are seen, on a phone the page does not scroll sideways."""
    db = livejoin.Database()
    db.execute(SHOP)
    with Server(db, port=0) as server:
        page.look(width, height)
        shown(page, server, "graph")
        page.until("document.querySelectorAll('.box').length === 15")
        found = boxes(page)
        for place, (left, top, right, bottom) in enumerate(found):
            assert right - left > 100
            for other in found[:place]:
                assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]
        if width > 1000:
            assert max(box[2] for box in found) <= width
            assert min(box[0] for box in found) >= 0
        for name in ("graph", "view/spent", "sql", "health"):
            shown(page, server, name)
            assert page.run("document.documentElement.scrollWidth") <= width


def test_the_places_by_the_keyboard_alone(page: Page, shop: livejoin.Database) -> None:
    """From the top of the page: to a table of the graph, along its edge to a block and its view, and to the rows."""
    shop.apply("orders", [(1, "Bob", "1.00")], coerce="json")
    with Server(shop, port=0) as server:
        shown(page, server, "graph")
        page.until("document.getElementById('box v totals') !== null")
        tab(page, ".box")
        page.press("End")
        assert page.run("document.activeElement.classList.contains('view')")
        page.press("Home")
        assert page.run("document.activeElement.classList.contains('table')")
        for _ in range(6):
            if page.run("document.activeElement.classList.contains('view')"):
                break
            page.press("ArrowRight")
        view = page.run("document.activeElement.querySelector('.title').firstChild.data")
        page.press("Enter")
        page.until("document.activeElement.closest('.detail') !== null")
        tab(page, ".detail a.button")
        page.press("Enter")
        page.until(f"location.hash === '#/view/{view}'")
        page.until("document.querySelectorAll('regular-table tbody tr').length === 1")
        tab(page, "[role=tab]")
        page.press("ArrowRight")
        page.until("document.querySelector('[role=tab][aria-selected=true]').textContent === 'Picture'")
        page.press("h", "KeyH", modifiers=1)
        page.until("document.querySelector('.health') !== null")


@pytest.mark.parametrize("place", ["graph", "view/totals", "sql", "health"])
def test_a_screen_reader_has_names(page: Page, shop: livejoin.Database, place: str) -> None:
    """What can be used has a name, each place is a region with a heading, and there is one place for announcements."""
    shop.apply("orders", [(1, "Bob", "1.00")], coerce="json")
    with Server(shop, port=0) as server:
        shown(page, server, place)
        page.until("document.querySelector('h1, h2') !== null")
        time.sleep(0.3)
        nodes = [one for one in page.call(TREE)["nodes"] if not one["ignored"]]
        roles = [(one["role"]["value"], one.get("name", {}).get("value", "")) for one in nodes]
        unnamed = [role for role, name in roles if role in NAMED - {"list", "listitem", "grid"} and not name.strip()]
        assert not unnamed
        assert [name for role, name in roles if role == "heading"]
        assert "main" in {role for role, _ in roles}
        assert "navigation" in {role for role, _ in roles}
        assert page.run("document.querySelectorAll('[aria-live=polite], [role=status]').length") >= 1
        assert page.run("document.documentElement.lang") == "en"
        assert page.run("document.title").endswith("livejoin")


def test_an_error_shows_its_caret_below_what_it_means(page: Page, shop: livejoin.Database) -> None:
    with Server(shop, port=0) as server:
        shown(page, server, "sql")
        write(page, "SELECT nothing FROM orders")
        for place in (".explain pre.caret", ".write .said pre.caret"):
            if place.startswith(".write"):
                press(page, "Run")
            page.until(f"document.querySelector('{place}') !== null")
            lines = page.run(f"document.querySelector('{place}').textContent").split("\n")
            assert lines[1].index("^") == lines[0].index("nothing")
            assert "monospace" in page.run(f"getComputedStyle(document.querySelector('{place}')).fontFamily")
    page.told[:] = [one for one in page.told if "status of 4" not in one]  # the answers of the server


def test_a_view_without_a_key_is_followed_at_once(page: Page, shop: livejoin.Database) -> None:
    """The browser's console has no answer 409 in it, which the page would ask for in vain."""
    shop.create_view("names", "SELECT country FROM customers")
    with Server(shop, port=0) as server:
        shown(page, server, "view/names")
        until_cells(page, ["DE", "FR"])
        assert page.told == []


def test_on_a_phone_the_list_of_views_is_folded(page: Page, shop: livejoin.Database) -> None:
    with Server(shop, port=0) as server:
        page.look(390, 844)
        shown(page, server, "view/totals")
        page.until("document.querySelector('.names') !== null")
        assert page.run("document.querySelector('.names').open") is False
        assert page.run("document.querySelector('.names').getBoundingClientRect().height") < 60
        page.run("document.querySelector('.names > summary').click()")
        page.until("document.querySelector('.names a').getBoundingClientRect().height > 0")
        page.look(1200, 800)
        page.until("document.querySelector('.names').open")
        assert page.run("document.querySelector('.names > summary').getBoundingClientRect().height") == 0


def test_a_large_view_says_that_it_has_no_filter(page: Page, shop: livejoin.Database) -> None:
    shop.apply("orders", [(k, "Bob", "1") for k in range(50_001)], coerce="json")
    with Server(shop, port=0) as server:
        shown(page, server, "view/foreign_ones")
        page.until("document.querySelector('.one .said').textContent.endsWith('no filter above 50,000 rows')")


TOP = "Math.min(...[...document.querySelectorAll('.box')].map((one) => one.getBoundingClientRect().top))"


def test_only_one_view_by_the_keyboard(page: Page) -> None:
    """The menu and a view's details show what feeds it alone, with its address; there is a way back to all."""
    db = livejoin.Database()
    db.execute(SHOP)
    count, focus = "document.querySelectorAll('.box').length", "document.activeElement"
    with Server(db, port=0) as server:
        shown(page, server, "graph")
        page.until(f"{count} === 15")
        assert page.run(f"{TOP} - document.querySelector('.canvas').getBoundingClientRect().top") < 30
        tab(page, "select.only")
        page.press("b", "KeyB", windowsVirtualKeyCode=66)
        page.until("location.hash === '#/graph/best'")
        page.until(f"{count} < 15")
        assert page.run(f"{focus}.matches('select.only')")  # whoever chooses goes on choosing
        titles = page.run("[...document.querySelectorAll('.box:not(.block)')].map((one) => one.id)")
        assert sorted(titles) == ["box t bought", "box t people", "box v best", "box v spent"]
        page.until("document.getElementById('announcements').textContent.startsWith('Only best: 2 tables')")
        page.run("document.getElementById('box v best').focus()")
        page.press("Enter")
        tab(page, "[data-only]")
        assert page.run(f"{focus}.textContent") == "Show all views"
        page.press("Enter")
        page.until(f"location.hash === '#/graph' && {count} === 15")
        assert page.run(f"{focus}.textContent") == "Only this view"
        page.press("Enter")
        page.until(f"location.hash === '#/graph/best' && {count} < 15")
        press(page, "Show all views")
        page.until(f"{count} === 15")
        shown(page, server, "graph/gone")
        page.until("document.querySelector('.canvas .empty')?.textContent.includes('no view gone')")


def test_dearest_first(page: Page, shop: livejoin.Database) -> None:
    """Views stand by name, or by the time that their blocks take in a commit; so do the blocks of Health."""
    shop.execute("CREATE VIEW a_static AS SELECT name FROM customers WHERE country = 'FR'")
    with Server(shop, port=0) as server:
        for k in range(20):
            shop.apply("orders", [(k, "Bob", "1.00")], coerce="json")
        shown(page, server, "view/totals")
        views = "[...document.querySelectorAll('.names ul:first-of-type .name')].map((one) => one.textContent)"
        page.until(f"{views}.join() === 'a_static,foreign_ones,totals'")
        tab(page, ".names select")
        page.press("d", "KeyD", windowsVirtualKeyCode=68)
        page.until(f"{views}.length === 3 && {views}.at(-1) === 'a_static'")  # no commit came to it
        times = "[...document.querySelectorAll('[data-rows^=views]')].map((one) => one.textContent)"
        page.until(f"/ (ms|µs|s)$/.test({times}[0]) && {times}[2] === ''")
        page.press("g", "KeyG", modifiers=1)
        page.until("document.querySelector('select.only')?.options.length === 4")
        page.until("document.querySelector('select.only').options[1].text.endsWith(' a commit')")
        page.press("h", "KeyH", modifiers=1)
        page.until("document.querySelector('[aria-sort=descending] [data-by=bytes]') !== null")
        tab(page, "[data-by=pace]")
        page.press("Enter")
        page.until("document.querySelector('[aria-sort=descending] [data-by=pace]') !== null")
        last = "document.querySelector('.health tbody tr:last-child td:last-child').textContent"
        page.until(f"{last} === ''")


def test_a_page_that_was_left_follows_no_longer(page: Page, shop: livejoin.Database) -> None:
    """Browsers keep pages to come back to, and all that these read; who comes back sees rows that are live again."""
    shop.apply("orders", [(1, "Ann", "1.00")], coerce="json")
    with Server(shop, port=0) as server:
        shown(page, server, "view/totals")
        until_cells(page, ["Ann"])
        page.open(f"{server.url}/v1/views")
        ends = time.monotonic() + 20
        while server.app.state.service.hub.followers:
            assert time.monotonic() < ends
            time.sleep(0.05)
        shop.apply("orders", [(2, "Bob", "2.00")], coerce="json")
        page.run("history.back()")
        until_cells(page, ["Ann", "Bob"])
