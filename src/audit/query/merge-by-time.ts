/**
 * What several logs hold as one sequence, by time where the logs themselves do not say what comes first: what one of them
 * holds stays in its order.
 */
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
