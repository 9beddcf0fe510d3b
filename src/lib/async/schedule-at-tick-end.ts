let scheduled: (() => void)[] = []

/**
 * Runs tasks in call order in the check phase of the event loop, after all sockets that became readable in this tick
 * have been read. Waking a blocked peer dominates the cost of a small write, so writes are batched per tick: one
 * wake-up covers many of them. Tasks must not throw.
 */
export function scheduleAtTickEnd(task: () => void): void {
  if (scheduled.push(task) === 1) setImmediate(runScheduled)
}

function runScheduled(): void {
  const tasks = scheduled
  scheduled = []
  for (const task of tasks) task()
}
