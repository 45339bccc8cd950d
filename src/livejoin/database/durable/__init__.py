"""A database that stays: a folder with snapshots and a log, which hold all that was ever told to be durable.

`frames` are the records of the log as bytes, `bodies` what is in them. `log` appends them, in the order of versions,
and synchronises them with the disk, once for all that wait. `recovery` makes of snapshot and log what they hold.
`folding` makes a new snapshot of both, in a process of its own. `home` is the folder, which one database at a time has.
"""
