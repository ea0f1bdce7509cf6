-- weft export --as parquet -o trace.parquet trace.json
-- duckdb <events.sql
--
-- A Parquet file that is not complete cannot be opened: its directory comes last.

-- How many events there are, and how long their slices take together.
SELECT count(*) AS events, coalesce(sum(dur_ns), 0)::BIGINT AS dur_ns FROM 'trace.parquet';

-- Where the time goes: each slice without the slices inside it.
SELECT s.name, count(*) AS slices, sum(s.dur_ns - coalesce(c.dur_ns, 0))::BIGINT AS self_ns
FROM 'trace.parquet' s
LEFT JOIN (SELECT parent_id, sum(dur_ns) AS dur_ns FROM 'trace.parquet' WHERE kind = 'slice' GROUP BY parent_id) c ON c.parent_id = s.id
WHERE s.kind = 'slice' AND s.tid IS NOT NULL
GROUP BY s.name ORDER BY self_ns DESC, s.name LIMIT 5;

-- An argument.
SELECT args->>'$.data.type' AS type, count(*) AS events
FROM 'trace.parquet' WHERE name = 'EventDispatch' GROUP BY type ORDER BY events DESC, type LIMIT 5;

-- Arrows: flows_in names the event that each comes from.
SELECT source.name AS source, e.name AS target, count(*) AS arrows
FROM (SELECT name, unnest(flows_in) AS arrow FROM 'trace.parquet') e
JOIN 'trace.parquet' source ON source.id = e.arrow."from"
GROUP BY ALL ORDER BY arrows DESC, source, target LIMIT 5;
