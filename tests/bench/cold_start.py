"""One cold start: `python -m tests.bench.cold_start path/to/handler.py` answers the events that come in, then ends.

Standard input is a JSON list of events; standard output becomes the answers, the CPU seconds that the process
had spent when the last one was there, and the modules that were loaded then.
"""

import importlib.util
import json
import os
import sys
import time


def main(path: str) -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # metrics are written there
    events = json.load(sys.stdin)
    spec = importlib.util.spec_from_file_location("handler", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answers = [module.lambda_handler(event, None) for event in events]
    seconds = time.process_time()
    report = {"answers": answers, "cpu_seconds": seconds, "modules": sorted(sys.modules)}
    print(json.dumps(report), file=out, flush=True)
    os._exit(0)  # what an interpreter does at its end is no part of a cold start


if __name__ == "__main__":
    main(sys.argv[1])
