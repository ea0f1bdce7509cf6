-- Which requests of a page were slow? From the request to its last byte, by the id that both events have.
SELECT sent.args->>'$.data.url' AS url, finished.ts_ns - sent.ts_ns AS dur_ns, (finished.args->>'$.data.encodedDataLength')::BIGINT AS bytes
FROM 'page.parquet' sent
JOIN 'page.parquet' finished
  ON finished.pid = sent.pid AND (finished.args->>'$.data.requestId') = (sent.args->>'$.data.requestId')
WHERE sent.name = 'ResourceSendRequest' AND finished.name = 'ResourceFinish'
ORDER BY dur_ns DESC, sent.id LIMIT 5;
