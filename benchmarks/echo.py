"""The floor of latency: every value goes from one topic to another as it comes, with no model in between.

Usage: python -m benchmarks.echo BROKERS INPUT SINK GROUP (until it is terminated)
"""

import signal
import sys

from confluent_kafka import Consumer, Producer


def main() -> None:
    brokers, topic, sink, group = sys.argv[1:]
    running = [True]
    signal.signal(signal.SIGTERM, lambda *_: running.clear())
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": group, "auto.offset.reset": "earliest"})
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 0})
    consumer.subscribe([topic])
    while running:
        for message in consumer.consume(1, 0.1):
            if message.error() is None:
                producer.produce(sink, message.value(), message.key(), message.partition())
        producer.poll(0)
    producer.flush()
    consumer.close()


if __name__ == "__main__":
    main()
