"""What `tools/spark_corpus.py` is made of: Spark's files of recorded answers, and how they are compared."""
