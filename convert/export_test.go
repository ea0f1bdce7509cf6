package convert

// Load is Open for tests that ask the timeline, with a report of what was read.
var Load = load
