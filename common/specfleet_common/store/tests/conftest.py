"""What the tests of this package start from."""

from specfleet_common.store.tests.fixtures import location, root, s3, store

__all__ = ["location", "root", "s3", "store"]
