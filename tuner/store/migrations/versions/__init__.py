"""One module per revision, oldest first. They are history: never change one that was released."""
