"""How agents and the aggregator talk: messages, strict codecs, chunks, the client."""
