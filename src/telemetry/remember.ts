/** What is known of labels that begin alike. */
interface Known<Found> {
  found: Found | undefined
  readonly next: Map<string, Known<Found>>
}

/** Remembers what was found for the same labels: to find a series by its labels costs more than to count in it. */
export function remember<Labels extends readonly string[], Found>(find: (...labels: Labels) => Found) {
  const root: Known<Found> = { found: undefined, next: new Map() }
  return (...labels: Labels): Found => {
    let known = root
    for (const label of labels) known = nextOf(known, label)
    return (known.found ??= find(...labels))
  }
}

function nextOf<Found>({ next }: Known<Found>, label: string): Known<Found> {
  let known = next.get(label)
  if (known === undefined) next.set(label, (known = { found: undefined, next: new Map() }))
  return known
}
