-- Where did a GPU have nothing to do? A gap is from the last end so far to the next start. weft report slices --table gaps says why as well.
SELECT device, thread_name AS stream, idle_since - (SELECT min(ts_ns) FROM 'training.parquet') AS at_ns, ts_ns - idle_since AS gap_ns
FROM (
  SELECT ts_ns, (args->>'$.device')::INTEGER AS device, thread_name, max(ts_ns + dur_ns) OVER so_far AS idle_since
  FROM 'training.parquet' WHERE kind = 'slice' AND list_contains(categories, 'kernel')
  WINDOW so_far AS (PARTITION BY pid, tid ORDER BY ts_ns, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
WHERE gap_ns > 0 ORDER BY gap_ns DESC LIMIT 5;
