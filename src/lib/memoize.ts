interface MemoNode<Found> {
  value: Found | undefined
  readonly next: Map<string, MemoNode<Found>>
}

/** Caches `find` by its labels: looking up a metric series costs more than counting in it. */
export function memoize<Labels extends readonly string[], Found>(find: (...labels: Labels) => Found) {
  const root: MemoNode<Found> = { value: undefined, next: new Map() }
  return (...labels: Labels): Found => {
    let node = root
    for (const label of labels) node = getOrCreateNext(node, label)
    return (node.value ??= find(...labels))
  }
}

function getOrCreateNext<Found>({ next }: MemoNode<Found>, label: string): MemoNode<Found> {
  let child = next.get(label)
  if (child === undefined) next.set(label, (child = { value: undefined, next: new Map() }))
  return child
}
