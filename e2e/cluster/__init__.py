"""A real Kubernetes cluster for the tests: somebody's, kind's, or one made on this machine."""
