"""Write the names of Spark's own settings, as the installed Spark knows them.

    .venv/bin/python tools/spark_settings.py

They go to ``src/livejoin/pipeline/spark_settings.txt``, where a pipeline file's ``run.spark`` is compared with them.
"""

from __future__ import annotations

from pathlib import Path

from livejoin.spark import local_session

TARGET = Path(__file__).parent.parent / "src" / "livejoin" / "pipeline" / "spark_settings.txt"
_OF_DAEMONS = ("spark.deploy.", "spark.history.", "spark.master.", "spark.test", "spark.worker.")
_DECLARED_IN = (
    *(f"org.apache.spark.internal.config.{one}$" for one in ("package", "UI", "Kryo", "Python", "Status", "Streaming")),
    *(f"org.apache.spark.sql.internal.{one}$" for one in ("StaticSQLConf", "SQLConf")),
)


def names() -> list[str]:
    """The names of all settings that begin with ``spark.``, without those of Spark's own servers."""
    session = local_session(cores=1)
    jvm = session._jvm
    assert jvm is not None
    for one in _DECLARED_IN:
        jvm.java.lang.Class.forName(one)
    entries = getattr(getattr(jvm.org.apache.spark.internal.config, "ConfigEntry$"), "MODULE$")
    field = entries.getClass().getDeclaredField("knownConfigs")
    field.setAccessible(True)
    found = {str(name) for name in field.get(entries).keySet().toArray()}
    found |= {str(row[0]) for row in session.sql("SET -v").collect()}
    return sorted(name for name in found if name.startswith("spark.") and not name.startswith(_OF_DAEMONS))


if __name__ == "__main__":
    TARGET.write_text("\n".join(names()) + "\n", encoding="utf-8")
