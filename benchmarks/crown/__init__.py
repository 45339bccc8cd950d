"""CROWN's section 8 again: its queries on real data, beside the systems that one would use instead.

    python -m benchmarks crown --graph soc-Epinions1.txt.gz --temporal sx-mathoverflow.txt.gz \\
        --snb ldbc-snb-test-data.tar.gz

One measurement of one system is one process. What runs there imports nothing of this project but what it measures, so
that other systems can run in interpreters of their own.
"""
