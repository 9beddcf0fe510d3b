let scheduled: (() => void)[] = []

/**
 * Runs the task in the check phase of the event loop, when all sockets that became readable in this tick have been
 * read, in the order of the calls. Waking a blocked peer dominates the cost of a small write, so writes are batched per
 * tick: one wake-up then covers many of them. The task must not throw.
 */
export function scheduleAtTickEnd(task: () => void): void {
  if (scheduled.push(task) === 1) setImmediate(runScheduled)
}

function runScheduled(): void {
  const tasks = scheduled
  scheduled = []
  for (const task of tasks) task()
}
