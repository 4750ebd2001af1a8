package job

// About is what names the job in a log line, as slog's keys and values: the
// delivery that asked for it, its id, and the try that runs or ran last (0: none).
// By these a job's story is found in the logs of serve and of its runners.
func (j Job) About() []any {
	return []any{"delivery", j.Wish.Delivery, "job", string(j.ID), "try", j.Try}
}
