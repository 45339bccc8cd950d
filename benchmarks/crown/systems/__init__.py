"""The systems that are measured: each module is run as a process of its own on a folder with a job."""
