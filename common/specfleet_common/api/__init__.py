"""The resources users write, as pydantic models, and how they are read from files."""
