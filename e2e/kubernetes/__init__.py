"""Stories in a Kubernetes cluster: `pytest -m cluster e2e/kubernetes`."""
