/**
 * Compiles a pattern in which `*` stands for any characters. A match takes at most the length of the name times the
 * number of `*`; a regular expression could backtrack for much longer.
 */
export function createNameMatcher(pattern: string): (name: string) => boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (name) => name === pattern
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
      return false
    const end = name.length - last.length
    let position = first.length
    for (const chunk of rest) {
      // Matching each part as far left as possible leaves the most room for the rest.
      const found = name.indexOf(chunk, position)
      if (found < 0 || found + chunk.length > end) return false
      position = found + chunk.length
    }
    return true
  }
}

export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => createNameMatcher(pattern)(name))
}

/**
 * Returns a name that represents all names of the pattern: another pattern matches it only if it matches every name
 * that this pattern matches. Each `*` becomes NUL, which neither patterns nor names contain.
 */
export function sampleName(pattern: string): string {
  return pattern.replaceAll('*', '\0')
}

const regularExpression = /^\^|\$$|\.[*+]|\[.*\]|\(.*\)|\\|[+?]$/

/** Describes a pattern that looks like a regular expression, with the pattern that is probably meant. */
export function describeRegularExpression(pattern: string): string | undefined {
  if (!regularExpression.test(pattern)) return undefined
  const meant = pattern
    .replaceAll(/\[[^\]]*\]|\([^)]*\)|\\[a-zA-Z]/g, '.')
    .replaceAll(/\.?[*+?]|\./g, '*')
    .replaceAll(/[\^$\\]/g, '')
    .replaceAll(/\*+/g, '*')
  return `${JSON.stringify(pattern)} looks like a regular expression, but only "*" is special; did you mean ${JSON.stringify(meant)}?`
}
