# Renders the jobs of jobs.db and calls their webhooks. Start as many as you like; needs SQLite 3.35 or later.
import json
import os
import pathlib
import sqlite3
import sys
import time
import urllib.request

from document_rendering import ServiceClient, ServiceUnreachableError

# Longer than a call with its retries takes. After that, a job that is not finished is taken again.
LEASE_SECONDS = 600
MAX_TRIES = 20
TAKE = """
UPDATE jobs SET tries = tries + 1, taken_until = :now + :lease WHERE id = (
  SELECT id FROM jobs WHERE finished = 0 AND tries < :max_tries AND taken_until < :now ORDER BY id LIMIT 1
) RETURNING id, request, webhook
"""

client = ServiceClient(os.environ["SERVICE_URL"], os.environ["SERVICE_API_TOKEN"])
database = sqlite3.connect("jobs.db", timeout=60, isolation_level=None)


def finish(job_id, request, webhook):
    result = client.render(request.encode())
    if result.ok:
        pathlib.Path(f"{job_id}.pdf").write_bytes(result.content)
        answer = {"id": job_id, "file": f"{job_id}.pdf"}
    elif result.problem.origin in ("request", "template"):
        answer = {"id": job_id, "code": result.problem.code, "detail": result.problem.detail}
    else:
        raise RuntimeError(result.problem.code)
    body = json.dumps(answer).encode()
    call = urllib.request.Request(webhook, body, {"Content-Type": "application/json"})
    urllib.request.urlopen(call, timeout=30).close()
    database.execute("UPDATE jobs SET finished = 1 WHERE id = ?", (job_id,))


while True:
    values = {"now": int(time.time()), "lease": LEASE_SECONDS, "max_tries": MAX_TRIES}
    job = database.execute(TAKE, values).fetchall()
    if not job:
        time.sleep(1)
        continue
    try:
        finish(*job[0])
    except (OSError, RuntimeError, ServiceUnreachableError) as error:
        print(f"job {job[0][0]}: {error}", file=sys.stderr)
