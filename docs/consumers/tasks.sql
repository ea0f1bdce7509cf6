-- Which tasks were long, and what took most of each? The largest part is the slice with the most time without the slices inside it, however deep.
WITH slices AS (
  SELECT s.*, s.dur_ns - coalesce(parts_ns, 0) AS self_ns
  FROM 'page.parquet' s
  LEFT JOIN (SELECT parent_id, sum(dur_ns)::BIGINT AS parts_ns FROM 'page.parquet' WHERE kind = 'slice' GROUP BY parent_id) parts
    ON parts.parent_id = s.id
  WHERE kind = 'slice'
)
SELECT task.id, task.thread_name AS thread, task.dur_ns, arg_max(part.name, part.self_ns) AS part, max(part.self_ns) AS part_ns
FROM slices task
JOIN slices part ON part.track = task.track AND part.id >= task.id AND part.ts_ns <= task.ts_ns + task.dur_ns
WHERE task.name = 'RunTask' AND task.depth = 0 AND task.dur_ns >= 10_000_000
GROUP BY ALL ORDER BY task.dur_ns DESC LIMIT 5;
