-- The jobs of worker.py: `sqlite3 jobs.db < jobs.sql`.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  request TEXT NOT NULL,
  webhook TEXT NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  taken_until BIGINT NOT NULL DEFAULT 0,
  finished INTEGER NOT NULL DEFAULT 0
);
