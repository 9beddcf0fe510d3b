let scheduled: (() => void)[] = []

/**
 * Runs tasks in call order in the check phase of the event loop. Waking a blocked peer dominates the cost of a small
 * write, so writes are batched per tick. Tasks must not throw.
 */
export function scheduleAtTickEnd(task: () => void): void {
  if (scheduled.push(task) === 1) setImmediate(runScheduled)
}

function runScheduled(): void {
  const tasks = scheduled
  scheduled = []
  for (const task of tasks) task()
}
