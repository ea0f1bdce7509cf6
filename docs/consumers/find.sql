-- Where is a text? In names, arguments and functions, as weft find looks for it.
SELECT id, ts_ns - (SELECT min(ts_ns) FROM 'page.parquet') AS at_ns, name, thread_name AS thread
FROM 'page.parquet'
WHERE contains(lower(concat_ws(' ', name, args, stack)), 'img/6.svg')
ORDER BY id LIMIT 5;
