"""The scheduler model: replays a workload event by event under the limits that the rules derived.

The event loop (:mod:`rules.simulation.loop`) and the life of a job (:mod:`rules.simulation.jobs`) are the same for
every scheduler. A scheduler plugs in at compile time, so that calling it costs nothing:

1. It has a state of its own: the columns of :func:`rules.simulation.memory.state_columns`, made of the core's tables
   and counters (:data:`rules.simulation.tables.CORE_TABLES`, ``CORE_COUNTERS``, ``CORE_FLOATS``) and of its own.
   Compiled code gets at a row by the function that :func:`rules.simulation.memory.rows` makes for a table:
   ``queue_at(state, q).used_memory += 1024``. The type of the state is what tells the schedulers apart.
2. For each function of :mod:`rules.simulation.hooks` it registers an implementation for its own state::

       @overload(hooks.node_beat)
       def _node_beat(state: Any, node: int) -> Callable[..., None] | None:
           return node_beat if is_state(state, FAIR_STATE) else None

   ``node_beat`` is a plain function with the same parameters, annotations included; what it calls is decorated with
   ``@compiled``. None says: not ours, ask the next scheduler.
3. It hands out a container with :func:`rules.simulation.jobs.grant`, which does the job's side of it (one ask less
   outstanding, the container waits for the AM's next beat, the node has less room, an AM is put on the list of those
   that start); the scheduler's own books are its own business.
4. It says why a job waits with :func:`rules.simulation.binding.bind`, naming rules by their place in its rule set, of
   which the first is the cluster's resources.
5. To run: :func:`rules.simulation.tables.lay_out` the case, make a :class:`rules.simulation.memory.Memory` of these
   tables and its own, :func:`rules.simulation.tables.start_clock`, then ``run(memory.record)`` of
   :mod:`rules.simulation.loop`; the times are then in ``memory["jobs"]``.

Order of things and times are those of the replay of Hadoop's own schedulers that the model is held against: at equal
times task ends, updates, submissions, AM beats, node beats; at one time and kind in the order of their making; times
add up by floating-point addition. Beats that change nothing cost a comparison or two; none is left out.
"""
