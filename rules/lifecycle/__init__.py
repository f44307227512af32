"""The safe change of a live scheduler: what the command line, ``run-once`` and the dashboard call.

    with open_context(settings) as context:                    # rules.lifecycle.context
        plan = make_plan(context, changes=..., effects=...)     # rules.lifecycle.propose
        plan_id = record_plan(context, plan)
        result = apply_plan(context, plan_id, watch_s=30.0)     # rules.lifecycle.apply
        result = rollback_plan(context, plan_id)                # rules.lifecycle.rollback
        settled = reconcile(context)                            # rules.lifecycle.reconcile
        drift = find_drift(context)                             # rules.lifecycle.drift
    freeze(store, cluster_id, ...), unfreeze(...)               # rules.lifecycle.freeze

Every result is a value (:class:`~rules.lifecycle.result.ApplyResult`); only what hinders the reading of the cluster
or of the store is raised (YarntuneError). ``docs/operators.md`` says what each step guarantees.
"""
