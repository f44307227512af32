"""The scheduler model: replays a workload event by event under the limits that the rules derived.

The event loop (:mod:`rules.simulation.loop`) and the life of a job (:mod:`rules.simulation.jobs`) are the same for
every scheduler. A scheduler plugs in at compile time, so that calling it costs nothing:

1. It makes a state: a ``NamedTuple`` whose first field is ``core``, a :class:`rules.simulation.tables.Core` as
   :func:`rules.simulation.tables.build_core` returns it, and whose other fields are its own arrays (numpy structured
   arrays: ``queues[q].used_memory`` is one machine instruction in numba, and has a name). The class of the state is
   what tells the schedulers apart.
2. For each function of :mod:`rules.simulation.hooks` it registers an implementation for its own state::

       @overload(hooks.node_beat)
       def _(state, node):
           if is_state(state, FairState):
               return node_beat        # a plain function of (state, node); what it calls is decorated with @compiled
           return None                 # not ours: numba asks the next scheduler

3. It hands out a container with :func:`rules.simulation.jobs.grant`, which does the job's side of it (one ask less
   outstanding, the container waits for the AM's next beat, the node has less room, an AM is put on the list of those
   that start); the scheduler's own books are its own business.
4. ``run(state)`` of :mod:`rules.simulation.loop` does the rest and leaves the times in ``state.core.jobs``.

Order of things and times are those of the replay of Hadoop's own schedulers that the model is held against: at equal
times task ends, updates, submissions, AM beats, node beats; at one time and kind in the order of their making; times
add up by floating-point addition. Beats that change nothing cost a comparison or two; none is left out.
"""
