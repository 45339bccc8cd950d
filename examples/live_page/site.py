"""A page whose rows are live: run this file, and open http://127.0.0.1:8000 in two windows."""

from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

import livejoin
from livejoin.server import app

db = livejoin.Database()
db.execute("CREATE TABLE votes (drink STRING NOT NULL)")
db.execute("CREATE VIEW counts AS SELECT drink, COUNT(*) AS votes FROM votes GROUP BY drink")
page = StaticFiles(directory=Path(__file__).parent, html=True)
site = Starlette(routes=[Mount("/live", app(db)), Mount("/", page)])

if __name__ == "__main__":
    uvicorn.run(site, host="127.0.0.1", port=8000, timeout_graceful_shutdown=1)  # else Ctrl-C waits for open pages
