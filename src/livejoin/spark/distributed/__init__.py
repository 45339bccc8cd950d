"""Views over tables that are spread over cells, kept up to date by the executors of a Spark cluster."""
