/** Merges several logs into one sequence by time. The order within each log is preserved. */
export async function* mergeByTime<Entry>(
  logs: readonly AsyncGenerator<Entry, void>[],
  getTime: (entry: Entry) => string,
): AsyncGenerator<Entry, void> {
  try {
    const heads = await Promise.all(logs.map(async (log) => ({ log, next: await log.next() })))
    for (;;) {
      const open = heads.filter(({ next }) => next.done !== true)
      const [first] = open.toSorted((one, other) => (entryTime(one) < entryTime(other) ? -1 : 1))
      if (first?.next.done !== false) return
      yield first.next.value
      first.next = await first.log.next()
    }
  } finally {
    for (const log of logs) await log.return()
  }

  function entryTime({ next }: { next: IteratorResult<Entry, void> }): string {
    return next.done === true ? '' : getTime(next.value)
  }
}
