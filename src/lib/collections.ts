/** Returns the keys of a table, an object that has exactly the members of its type. */
export function getKeys<Table extends object>(table: Table): Extract<keyof Table, string>[] {
  const keys: Extract<keyof Table, string>[] = []
  for (const key in table) if (Object.hasOwn(table, key)) keys.push(key)
  return keys
}

/** Groups values by key. Order is stable: values within a group, and keys by first occurrence. */
export function groupBy<Value>(
  values: Iterable<Value>,
  keyOf: (value: Value) => string,
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}

/**
 * Options of an LRUCache that may stay small: with `max`, it allocates all of its lists at once, 2.8 MiB for 100,000
 * entries.
 */
export function withoutReserve(maxEntries: number) {
  return { maxSize: maxEntries, sizeCalculation: () => 1 }
}

interface MemoNode<Found> {
  value: Found | undefined
  readonly next: Map<string, MemoNode<Found>>
}

/**
 * Caches `find` by its labels: looking up a metric series costs more than counting in it. A promise is cached unless it
 * rejects.
 */
export function memoize<Labels extends readonly string[], Found>(find: (...labels: Labels) => Found) {
  const root: MemoNode<Found> = { value: undefined, next: new Map() }
  function findFirst(node: MemoNode<Found>, labels: Labels): Found {
    const found = find(...labels)
    node.value = found
    if (found instanceof Promise) found.catch(() => (node.value = undefined))
    return found
  }
  return (...labels: Labels): Found => {
    let node = root
    for (const label of labels) node = getOrCreateNext(node, label)
    return node.value ?? findFirst(node, labels)
  }
}

function getOrCreateNext<Found>({ next }: MemoNode<Found>, label: string): MemoNode<Found> {
  let child = next.get(label)
  if (child === undefined) next.set(label, (child = { value: undefined, next: new Map() }))
  return child
}

/** Caches the results of `make` in a weak map, except undefined. The objects must not change. */
export function memoizeByObject<Value extends object, Made>(
  make: (value: Value) => Made,
): (value: Value) => Made {
  const cache = new WeakMap<Value, Made>()
  return (value) => {
    let made = cache.get(value)
    if (made === undefined) cache.set(value, (made = make(value)))
    return made
  }
}
