"""A caller that can be killed: `python calling.py BROKERS REQUESTS REPLIES FIRST N` asks for N numbers, one by one.

With `FIELD PARTITION` after that it asks about objects with the number in that field, and reads that partition. It
writes a line for each answer, and its counts in the end.
"""

import json
import sys
from dataclasses import asdict

from pelton.producers.client import RequestReplyClient

if __name__ == "__main__":
    brokers, requests, replies, first, n, *rest = sys.argv[1:]
    partition = int(rest[1]) if rest else None
    with RequestReplyClient(kafka=brokers, requests=requests, replies=replies, reply_partition=partition) as client:
        for number in range(int(first), int(first) + int(n)):
            answer = client.call({rest[0]: number} if rest else number)
            sys.stdout.write(f"{number} {answer}\n")
            sys.stdout.flush()
        sys.stdout.write(json.dumps(asdict(client.counts())) + "\n")
