"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# A test that takes long on a busy machine is not a fault; how long examples may take says nothing.
settings.register_profile("specfleet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specfleet")
