"""Views over tables that are spread over cells, maintained by the executors of a Spark cluster."""
