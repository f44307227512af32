"""The store: jobs, runs, studies, plans and audit; the only part that knows SQLAlchemy."""
