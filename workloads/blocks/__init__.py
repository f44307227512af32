"""Reducible workload blocks: a CPU share, a resident memory and a way to use the caches, held for any span.

``kernels`` has the loops, ``calibration`` compiles and measures them on this machine, ``mix`` chooses among them for a
CPI and MAI, ``runner`` is the program that runs blocks and ``run`` starts it. ``docs/workloads.md`` has the figures.
"""
