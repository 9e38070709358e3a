"""Continuous traffic for tests in a cluster: every request is recorded, none is tried again.

Connections are those of an httpx client, on which OpenAI's is built: a pool that keeps them alive.
One that the server closed while it was idle is noticed before it is used, and another is opened in
its place; a request that was sent is never sent a second time, whatever became of it.
"""
