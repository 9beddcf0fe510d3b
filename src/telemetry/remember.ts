/** Remembers what was found for the same labels: to find a series by its labels costs more than to count in it. */
export function remember<Labels extends readonly string[], Found>(find: (...labels: Labels) => Found) {
  const known = new Map<string, Found>()
  return (...labels: Labels): Found => {
    const key = labels.join(' ')
    let found = known.get(key)
    if (found === undefined) known.set(key, (found = find(...labels)))
    return found
  }
}
