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
