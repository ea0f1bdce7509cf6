-- Which operations are slow, and which fail? A span with an error has a ✗ before its name.
SELECT process_name AS service, ltrim(name, '✗ ') AS operation, count(*) AS spans,
  count(*) FILTER ((args->>'$.weft.status') = 'error') AS errors,
  quantile_disc(dur_ns, 0.5) AS p50_ns, quantile_disc(dur_ns, 0.95) AS p95_ns
FROM 'services.parquet' WHERE kind = 'slice'
GROUP BY ALL HAVING spans >= 20 ORDER BY p95_ns DESC LIMIT 5;
