"""Makes the Delta table that the example reads."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

rows = pa.table({"id": [1, 2, 3], "part": ["bolt", "bolt", "nut"], "pieces": [10, 25, 12]})
feed = {"delta.enableChangeDataFeed": "true"}
write_deltalake(str(Path(__file__).parent / "shelves"), rows, configuration=feed)
