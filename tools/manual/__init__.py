"""What the manual needs beside Sphinx: links to files that are no pages, the API, pages for a strict policy."""
