"""Events in: polling, batching, offsets and the assignment of partitions."""
