/** Whether a name matches a pattern in which each `*` stands for any characters, or none; names are never folded. */
export type NameMatcher = (name: string) => boolean

/**
 * The matcher of a pattern. It takes no longer than the length of the name times the number of `*`, whatever the
 * name: a regular expression could be made to take much longer.
 */
export function createNameMatcher(pattern: string): NameMatcher {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (name) => name === pattern
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
      return false
    const end = name.length - last.length
    let position = first.length
    for (const chunk of rest) {
      // The leftmost place leaves the most room for the pieces that follow.
      const found = name.indexOf(chunk, position)
      if (found < 0 || found + chunk.length > end) return false
      position = found + chunk.length
    }
    return true
  }
}

/**
 * A name that stands for all that the pattern matches: another pattern matches it only if it matches every name that
 * this one does, for what it holds instead of each `*` is in no pattern and no name.
 */
export function sampleName(pattern: string): string {
  return pattern.replaceAll('*', '\0')
}
