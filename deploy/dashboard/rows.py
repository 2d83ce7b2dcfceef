"""What the dashboard shows, row by row."""

from dashboard.panels import PODS, WORKERS, Panel, gauge, mean, quantile, ranges, rate

STAGES = ("prepare", "device", "finish", "produce")

ROWS: dict[str, tuple[Panel, ...]] = {
    "Overview": (
        Panel("Pods ready", {"": f'sum(pelton_healthy{{probe="ready", {PODS}}})'}, kind="stat", share=6),
        Panel("Events scored", {"": rate("pelton_scored_total")}, "ops", "stat", 6),
        Panel("Age of the oldest record to read", {"": gauge("pelton_lag_seconds", "max")}, "s", "stat", 6),
        Panel("Time to drain", {"": gauge("pelton_drain_seconds", "max")}, "s", "stat", 6),
        Panel("Restarts", {"": f"sum(increase(pelton_restarts_total{{{WORKERS}}}[$__range]))"}, kind="stat", share=6),
        Panel(
            "Models",
            {"{{name}} {{version}} on {{device}}": gauge("pelton_model_info", "count", "name, version, device")},
            kind="stat",
            share=6,
            about="Workers by what they serve.",
        ),
        Panel(
            "Builds",
            {"{{version}}, librdkafka {{librdkafka}}": f"count by (version, librdkafka) (pelton_build_info{{{PODS}}})"},
            kind="stat",
            share=6,
        ),
        Panel("From start to warm", {"": gauge("pelton_startup_seconds", "max")}, "s", "stat", 6),
        Panel(
            "Records",
            {
                "taken": rate("pelton_records_total"),
                "scored": rate("pelton_scored_total"),
                "dead letters": rate("pelton_dead_letters_total"),
                "tombstones": rate("pelton_tombstones_total"),
            },
            "ops",
        ),
        Panel("Workers by state", {"{{state}}": gauge("pelton_worker_state", by="state")}, stacked=True),
        Panel(
            "Probes",
            {"{{instance}} {{probe}}": f"min by (instance, probe) (pelton_healthy{{{PODS}}})"},
            about="1 for yes, 0 for no.",
        ),
    ),
    "Times on the road": (
        Panel("From poll until safe in the sink", ranges("pelton_end_to_end_seconds"), "s", about="A block at a time."),
        Panel("Median by stage", {stage: quantile(0.5, f"pelton_{stage}_seconds") for stage in STAGES}, "s"),
        Panel("99th percentile by stage", {stage: quantile(0.99, f"pelton_{stage}_seconds") for stage in STAGES}, "s"),
        Panel("Waiting for a batch", {"{{lane}} p99": quantile(0.99, "pelton_batch_wait_seconds", "lane")}, "s"),
        Panel(
            "What the workers' time goes to",
            {stage: rate(f"pelton_{stage}_seconds_sum") for stage in STAGES},
            "percentunit",
            about="Seconds a second in each stage; a worker has one.",
            stacked=True,
        ),
        Panel("Batch in the model now", {"{{worker}}": gauge("pelton_batch_age_seconds", "max", "worker")}, "s"),
    ),
    "Lag": (
        Panel("Records to read", {"{{topic}}": gauge("pelton_lag_records", by="topic")}),
        Panel("Age of the oldest record", {"{{topic}}": gauge("pelton_lag_seconds", "max", "topic")}, "s"),
        Panel("Time to drain", {"{{topic}}": gauge("pelton_drain_seconds", "max", "topic")}, "s"),
        Panel(
            "The ten partitions furthest behind",
            {"{{topic}}/{{partition}}": f"topk(10, {gauge('pelton_lag_records', 'max', 'topic, partition')})"},
        ),
        Panel(
            "Oldest record in hand",
            {"{{worker}}": gauge("pelton_oldest_unfinished_seconds", "max", "worker")},
            "s",
            about="Polled, and not yet safe.",
        ),
        Panel(
            "Replicas",
            {"{{which}}": f"max by (which) (pelton_replicas{{{PODS}}})"},
            about="Wanted and there, by /scale: only with `scale:` in the settings.",
        ),
        Panel("Rebalances", {"{{kind}}": rate("pelton_rebalances_total", "kind")}, "ops"),
        Panel(
            "Partitions by verdict",
            {"{{verdict}}": gauge("pelton_partition_verdict", by="verdict")},
            about="A stall or a stop makes a pod not ready.",
            stacked=True,
        ),
    ),
    "Batches": (
        Panel("Batches", {"{{lane}}": rate("pelton_batches_total", "lane")}, "ops"),
        Panel("What closes them", {"{{lane}}: {{reason}}": rate("pelton_batches_total", "lane, reason")}, "ops"),
        Panel("Records in a batch, mean", {"{{lane}}": mean("pelton_batch_size", "lane")}),
        Panel("Share of the largest batch, mean", {"{{lane}}": mean("pelton_batch_fill_ratio", "lane")}, "percentunit"),
        Panel(
            "Queue",
            {
                "{{lane}}": gauge("pelton_queue_records", by="lane"),
                "most in one call": gauge("pelton_batch_ceiling_records", "min"),
            },
            about="Records that wait for a batch, and how many the device takes at once.",
        ),
        Panel("Bytes in the queue", {"{{lane}}": gauge("pelton_queue_bytes", by="lane")}, "bytes"),
    ),
    "Requests": (
        Panel("Answers", {"{{code}}": rate("pelton_answers_total", "code")}, "ops", stacked=True),
        Panel("From poll until delivered", ranges("pelton_reply_seconds"), "s"),
        Panel("Waiting for a batch", ranges("pelton_batch_wait_seconds", lane="requests"), "s"),
        Panel("What became of answers", {"{{end}}": rate("pelton_replies_total", "end")}, "ops"),
        Panel(
            "Repeats and cancels",
            {"repeats": rate("pelton_repeats_total"), "cancels": rate("pelton_cancels_total")},
            "ops",
        ),
        Panel("Answers on their way", {"": gauge("pelton_in_flight_deliveries", more=', lane="requests"')}),
    ),
    "Dead letters": (
        Panel("By code", {"{{code}}": rate("pelton_dead_letters_total", "code")}, "ops", stacked=True),
        Panel(
            "Share of records",
            {"": f"{rate('pelton_dead_letters_total')} / {rate('pelton_records_total')}"},
            "percentunit",
        ),
        Panel("No event of the model", {"{{code}}": rate("pelton_decode_failures_total", "code")}, "ops"),
    ),
    "Transactions and sink": (
        Panel("Transactions", {"{{end}}": rate("pelton_transactions_total", "end")}, "ops"),
        Panel("A commit", ranges("pelton_commit_seconds"), "s", about="Until the broker's answer."),
        Panel(
            "What failed and is tried again",
            {"tries": rate("pelton_sink_retries_total"), "commits refused": rate("pelton_commits_refused_total")},
            "ops",
        ),
        Panel("On its way to the broker", {"{{lane}}": gauge("pelton_in_flight_deliveries", by="lane")}),
    ),
    "Processes and GPUs": (
        Panel("CPU cores", {"{{instance}}/{{worker}}": rate("pelton_process_cpu_seconds_total", "instance, worker")}),
        Panel(
            "Resident memory",
            {"{{instance}}/{{worker}}": gauge("pelton_process_resident_bytes", by="instance, worker")},
            "bytes",
        ),
        Panel(
            "Threads and open files",
            {
                "threads {{worker}}": gauge("pelton_process_threads", "max", "worker"),
                "files {{worker}}": gauge("pelton_process_open_files", "max", "worker"),
            },
        ),
        Panel("Since the last poll", {"{{worker}}": gauge("pelton_poll_age_seconds", "max", "worker")}, "s"),
        Panel(
            "GPU memory",
            {
                "{{gpu}}": f"{gauge('pelton_gpu_memory_used_bytes', 'max', 'gpu')}"
                f" / {gauge('pelton_gpu_memory_total_bytes', 'max', 'gpu')}"
            },
            "percentunit",
            about="Only where there is a GPU, with pelton[gpu].",
        ),
        Panel(
            "GPU busy",
            {"{{gpu}}": gauge("pelton_gpu_busy_ratio", "max", "gpu")},
            "percentunit",
            about="Only where there is a whole GPU, with pelton[gpu].",
        ),
    ),
}
