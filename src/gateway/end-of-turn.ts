let waiting: (() => void)[] = []

/**
 * Does it when everything that has arrived in this turn of the event loop has been looked at, in the order of the
 * calls. What is written to others goes out here, one write after the other: a write to somebody who sleeps wakes him,
 * which takes longer than all else about it, and among many writes at once the first does that for the rest.
 * Of small reads and refusals by the hundred, each costs a third less. It must not throw.
 */
export function atEndOfTurn(write: () => void): void {
  if (waiting.push(write) === 1) setImmediate(writeAll)
}

function writeAll(): void {
  const writes = waiting
  waiting = []
  for (const write of writes) write()
}
