"""A caller that can be killed: `python calling.py BROKERS REQUESTS REPLIES FIRST N` asks for N numbers, one by one.

It writes a line for each answer, and its counts in the end.
"""

import json
import sys
from dataclasses import asdict

from pelton.producers.client import RequestReplyClient

if __name__ == "__main__":
    brokers, requests, replies, first, n = sys.argv[1:]
    with RequestReplyClient(kafka=brokers, requests=requests, replies=replies) as client:
        for number in range(int(first), int(first) + int(n)):
            sys.stdout.write(f"{number} {client.call(number)}\n")
            sys.stdout.flush()
        sys.stdout.write(json.dumps(asdict(client.counts())) + "\n")
