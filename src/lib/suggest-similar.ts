/** Returns `; did you mean "browse"?` if a candidate is similar to the word, else an empty string. */
export function suggestSimilar(word: string, candidates: Iterable<string>): string {
  const wanted = word.toLowerCase()
  // With a typo in every third letter it is another word.
  let least = Math.floor(word.length / 3) + 1
  let nearest: string | undefined
  for (const candidate of candidates) {
    const edits = editDistance(wanted, candidate.toLowerCase(), least)
    if (edits < least) [nearest, least] = [candidate, edits]
  }
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}

/** Levenshtein distance, at most `limit`. */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) >= limit) return limit
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 0; row < one.length; row++) {
    const current = [row + 1]
    for (let column = 0; column < other.length; column++) {
      const replaced = (above[column] ?? 0) + (one[row] === other[column] ? 0 : 1)
      current.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    above = current
  }
  return Math.min(above[other.length] ?? limit, limit)
}
