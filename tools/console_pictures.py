"""The pictures of ``docs/console``: each place of the console of a server on which changes flow, light and dark.

``make console-pictures`` writes them anew; it needs Chromium. All pictures, of each place in both colours, on a screen
and on a phone, are written to ``build/console`` to be looked at.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "support")]

import livejoin  # noqa: E402
from devtools import Page, browser_page  # noqa: E402  # after the path
from livejoin.server import Limits, Server  # noqa: E402

DOCS, ALL = ROOT / "docs" / "console", ROOT / "build" / "console"
SCREEN, PHONE = (1280, 800), (360, 760)

SHOP = """
    CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING NOT NULL, country STRING);
    CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT NOT NULL, day DATE NOT NULL);
    CREATE TABLE lines (id BIGINT PRIMARY KEY, order_id BIGINT NOT NULL, product BIGINT NOT NULL, quantity INT NOT NULL,
        price DECIMAL(10, 2) NOT NULL);
    CREATE TABLE products (id BIGINT PRIMARY KEY, name STRING NOT NULL, category STRING NOT NULL);
    CREATE VIEW revenue AS SELECT c.country, SUM(l.quantity) AS sold, SUM(l.quantity * l.price) AS total
        FROM customers c JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id GROUP BY c.country;
    CREATE VIEW best_countries AS SELECT country, total FROM revenue ORDER BY total DESC LIMIT 3;
    CREATE VIEW basket AS SELECT o.id AS order_id, o.day, c.name AS customer, p.name AS product, l.quantity, l.price
        FROM orders o JOIN customers c ON o.customer = c.id JOIN lines l ON l.order_id = o.id
        JOIN products p ON p.id = l.product;
    CREATE VIEW categories AS SELECT p.category, COUNT(*) AS n, SUM(l.quantity) AS sold, MAX(l.price) AS dearest
        FROM lines l JOIN products p ON p.id = l.product GROUP BY p.category;
    CREATE VIEW silent AS SELECT c.id, c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o
        WHERE o.customer = c.id)
"""
QUERY = """SELECT c.country, p.category, SUM(l.price * l.quantity) AS total
FROM customers c
JOIN orders o ON o.customer = c.id
JOIN lines l ON l.order_id = o.id
JOIN products p ON p.id = l.product
WHERE o.day >= DATE'2026-11-10'
GROUP BY c.country, p.category"""
COUNTRIES = ("AT", "CH", "DE", "ES", "FR", "IT", "NO", "PL", "PT", "SE", None)
CATEGORIES = ("books", "food", "garden", "tools", "toys")
FIRST_DAY = date(2026, 11, 1)
ORDERS, PAUSE = 3000, 0.25  # orders at the start; seconds between two commits


def fill(db: livejoin.Database, chance: random.Random) -> None:
    """Declare the shop, and put its first rows into it."""
    db.execute(SHOP)
    customers = [(k, f"customer {k}", chance.choice(COUNTRIES)) for k in range(400)]
    products = [(k, f"product {k}", CATEGORIES[k % len(CATEGORIES)]) for k in range(100)]
    db.apply({"customers": customers, "products": products})
    orders, lines = [], []
    for number in range(ORDERS):
        order, some = ordered(number, chance)
        orders.append(order)
        lines += some
    db.apply({"orders": orders, "lines": lines}, coerce="json")


def ordered(number: int, chance: random.Random) -> tuple[tuple[object, ...], list[tuple[object, ...]]]:
    """An order and its lines."""
    order = (number, chance.randrange(350), str(FIRST_DAY + timedelta(number // 120)))
    lines = [
        (4 * number + k, number, chance.randrange(100), chance.randint(1, 4), f"{chance.uniform(1, 90):.2f}")
        for k in range(chance.randint(1, 3))
    ]
    return order, lines


@contextmanager
def flowing(db: livejoin.Database, chance: random.Random) -> Iterator[None]:
    """Some orders come with each commit, until it ends."""
    ends = threading.Event()

    def flow() -> None:
        number = ORDERS
        while not ends.wait(PAUSE):
            found = [ordered(number + k, chance) for k in range(chance.randint(1, 3))]
            number += len(found)
            db.apply(
                {"orders": [one for one, _ in found], "lines": [line for _, some in found for line in some]},
                coerce="json",
            )

    thread = threading.Thread(target=flow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def graph(page: Page) -> None:
    page.until("document.querySelector('.edge.went') !== null")
    time.sleep(0.3)


def chosen(page: Page) -> None:
    page.until("document.getElementById('box v best_countries') !== null")
    page.run(
        "document.getElementById('box v best_countries').dispatchEvent(new MouseEvent('click', { bubbles: true }))"
    )
    page.until("!document.querySelector('.detail').hidden")
    time.sleep(1.5)


def rows(page: Page) -> None:
    page.until("document.querySelectorAll('regular-table tbody tr').length > 3", seconds=90)


def view(page: Page) -> None:
    rows(page)
    page.until("document.querySelector('td.flash-0, td.flash-1') !== null")
    time.sleep(0.15)


def tab(name: str) -> Callable[[Page], None]:
    def opened(page: Page) -> None:
        page.until(f"document.getElementById('tab-{name}') !== null")
        page.run(f"document.getElementById('tab-{name}').click()")
        if name == "actual":
            press(page, "Begin, and show it")
            page.until("document.querySelector('.panel pre') !== null")
            time.sleep(3)
            press(page, "Look again")
        page.until(
            "document.querySelector('.panel > *') !== null && document.querySelector('.panel').innerText !== '…'"
        )
        time.sleep(1)

    return opened


def press(page: Page, title: str) -> None:
    button = f"[...document.querySelectorAll('button')].find((one) => one.textContent === {json.dumps(title)})"
    page.until(f"({button}) != null && !({button}).disabled")
    page.run(f"({button}).click()")


def sql(page: Page) -> None:
    page.until("document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content') != null")
    page.run("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').focus()")
    page.press("a", "KeyA", modifiers=2, commands=["selectAll"])
    page.type(QUERY)
    time.sleep(1)
    page.press("Escape")  # what is proposed for the last name
    page.until("document.querySelector('.headline') !== null")
    press(page, "Run")
    rows(page)


def supposed(page: Page) -> None:
    sql(page)
    press(page, "try it")
    page.until("document.querySelector('.advice h2')?.textContent.includes('if that were')")


def health(page: Page) -> None:
    page.until("document.querySelector('.wide tbody tr') !== null")
    time.sleep(4)


PLACES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "graph": ("graph", graph),
    "chosen": ("graph", chosen),
    "only": ("graph/best_countries", graph),
    "view": ("view/revenue", view),
    "picture": ("view/basket", tab("picture")),
    "explained": ("view/revenue", tab("explained")),
    "actual": ("view/revenue", tab("actual")),
    "source": ("view/revenue", tab("sql")),
    "table": (
        "table/orders",
        lambda page: page.until("document.querySelectorAll('regular-table tbody tr').length > 3"),
    ),
    "sql": ("sql", sql),
    "suppose": ("sql", supposed),
    "health": ("health", health),
}


def taken(page: Page, server: Server, folder: Path) -> None:
    """Take a picture of each place, in each colour and size."""
    page.open(f"{server.url}/#/graph")
    page.until("document.body.dataset.state === 'live'")
    time.sleep(5)  # so that there is a past to be seen
    for scheme in ("light", "dark"):
        for size, (width, height) in {"screen": SCREEN, "phone": PHONE}.items():
            page.look(width, height, scheme)
            for name, (place, ready) in PLACES.items():
                page.open("about:blank")
                page.open(f"{server.url}/#/{place}")
                page.until("document.body.dataset.state === 'live'")
                ready(page)
                page.picture(folder / f"{name}-{size}-{scheme}.png")
                wide = page.run("document.documentElement.scrollWidth")
                assert wide <= width, f"{name} is {wide} wide on a {size} of {width}"


def sheet(page: Page, pictures: list[Path], columns: int, width: int, height: int, path: Path) -> None:
    """Put pictures beside one another into one."""
    rows = -(-len(pictures) // columns)
    page.look(columns * (width + 8) - 8, rows * (height + 8) - 8)
    page.open("about:blank")
    images = "".join(
        f'<img width={width} height={height} src="data:image/png;base64,{base64.b64encode(one.read_bytes()).decode()}">'
        for one in pictures
    )
    style = f"margin:0;background:#808890;display:grid;gap:8px;grid-template-columns:repeat({columns},{width}px)"
    page.run(f"document.body.style.cssText = {json.dumps(style)}, document.body.innerHTML = {json.dumps(images)}, 1")
    page.until("[...document.images].every((one) => one.complete)")
    page.picture(path)


def main() -> None:
    ALL.mkdir(parents=True, exist_ok=True)
    chance = random.Random(7)
    db = livejoin.Database()
    fill(db, chance)
    with tempfile.TemporaryDirectory() as folder, browser_page(Path(folder)) as page:
        with Server(db, port=0, limits=Limits(query_seconds=90)) as server, flowing(db, chance):
            taken(page, server, ALL)
        for name in ("graph", "view", "sql", "suppose", "health"):
            (DOCS / f"{name}.png").write_bytes((ALL / f"{name}-screen-light.png").read_bytes())
        dark = [ALL / f"{name}-screen-dark.png" for name in ("graph", "view", "sql", "health")]
        sheet(page, dark, 2, SCREEN[0] // 2, SCREEN[1] // 2, DOCS / "dark.png")
        phone = [
            ALL / f"{name}-phone-{how}.png"
            for name, how in (("graph", "light"), ("view", "dark"), ("sql", "light"), ("health", "dark"))
        ]
        sheet(page, phone, 4, *PHONE, DOCS / "phone.png")
    print(f"{len(PLACES) * 4} pictures in {ALL}, those of the manual in {DOCS}")


if __name__ == "__main__":
    main()
