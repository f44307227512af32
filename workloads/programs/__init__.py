"""Stand-alone PySpark programs; they import nothing of yarntune."""
