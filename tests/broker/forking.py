"""A caller that forks: `python forking.py BROKERS REQUESTS REPLIES` says what each of the two processes met."""

import os
import sys

from pelton.errors import ClientClosed
from pelton.producers.client import EventProducer, RequestReplyClient


def met(what: str) -> None:
    os.write(1, f"{what}\n".encode())


if __name__ == "__main__":
    brokers, requests, replies = sys.argv[1:]
    client = RequestReplyClient(kafka=brokers, requests=requests, replies=replies).start()
    producer = EventProducer(brokers, replies)
    client.call(1)
    if (child := os.fork()) == 0:
        for use in (lambda: client.call(1), lambda: producer.send({})):
            try:
                use()
            except ClientClosed as error:
                met(f"child: {error}")
        client.close()
        producer.close()
        with RequestReplyClient(kafka=brokers, requests=requests, replies=replies) as own:
            met(f"child: {own.call(3)}")
        sys.exit(0)  # an ordinary end, with all that is torn down then
    met(f"parent: {os.waitpid(child, 0)[1]}, {client.call(2)}")
    producer.close()
    client.close()
