/** Returns the last items of a sequence. Retains at most twice as many. */
export async function collectLast<Item>(items: AsyncIterable<Item>, count: number): Promise<readonly Item[]> {
  const newest: Item[] = []
  for await (const item of items) {
    newest.push(item)
    // Trimmed rarely: moving the rest for each item would be slow.
    if (newest.length >= 2 * count) newest.splice(0, newest.length - count)
  }
  return newest.slice(-count)
}
