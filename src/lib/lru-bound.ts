/**
 * Options of an LRUCache with at most so many entries, for one that may stay small: with `max`, it allocates all of its
 * lists at once, 2.8 MiB for 100,000 entries.
 */
export function withoutReserve(maxEntries: number) {
  return { maxSize: maxEntries, sizeCalculation: () => 1 }
}
