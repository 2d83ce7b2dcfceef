"""Pelton, a Kafka-native model server."""
