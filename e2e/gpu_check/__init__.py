"""The check of the plugin on a GPU, see `__main__`."""
