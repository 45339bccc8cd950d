"""Two revisions of livejoin over the same small workload, in turns: ``python -m benchmarks paired --before REV``.

On a machine where others work too, a figure of yesterday says little about one of today. Here both versions run within
seconds of each other, each in a process of its own that counts its own processor time, and what is shown is the ratio
of the two, round by round.
"""
