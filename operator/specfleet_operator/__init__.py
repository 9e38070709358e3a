"""The operator: brings what a SpeculatorFleet asks for to a Kubernetes cluster."""
