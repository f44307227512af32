"""Read models: what a page, and the API, shows of one subject, from the store and the cluster.

A function takes what it reads from and the time, and gives a :class:`~web.respond.View`: values, tables and charts,
free of HTML. Pages render it, ``?format=json`` and the API give it as JSON, ``?format=csv`` one of its tables.
"""
