"""Why an application waits, which property would free it, and what that would do to the others. Pure.

The rules and the simulation are asked, no formula of YARN is written a second time: the present state is built up in
the simulation (:mod:`rules.explain.replay`), under the configuration that runs and under changed ones
(:mod:`rules.explain.search`). See ``docs/explain.md``.
"""
