/**
 * Returns `; did you mean "browse"?` if a candidate is similar to the word, else an empty string. It differs in at most
 * `maxEdits` letters, by default a third of the word.
 */
export function suggestSimilar(
  word: string,
  candidates: Iterable<string>,
  maxEdits = Math.floor(word.length / 3),
): string {
  const all = [...candidates]
  const longer = findLonger(word, all)
  if (longer !== undefined) return `; did you mean "${longer}"?`
  const wanted = word.toLowerCase()
  let least = maxEdits + 1
  let nearest: string | undefined
  for (const candidate of all) {
    const edits = editDistance(wanted, candidate.toLowerCase(), least)
    if (edits < least) [nearest, least] = [candidate, edits]
  }
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}

/** Returns the shortest candidate that has the words of a compound and more between them, such as `InsertIntoTable`. */
function findLonger(word: string, candidates: readonly string[]): string | undefined {
  const wanted = splitWords(word)
  const [first] = wanted
  const last = wanted.at(-1)
  if (wanted.length < 2 || wanted.join('') !== word) return undefined
  return candidates
    .filter((candidate) => {
      const words = splitWords(candidate)
      if (words.length <= wanted.length || words[0] !== first || words.at(-1) !== last) return false
      let found = 0
      for (const one of words) if (one === wanted[found]) found++
      return found === wanted.length
    })
    .toSorted((one, other) => one.length - other.length)[0]
}

function splitWords(name: string): readonly string[] {
  return name.match(/[A-Z]?[a-z]+/g) ?? []
}

/** Edit distance, at most `limit`, in which two swapped neighbours are one edit. */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) >= limit) return limit
  let twoAbove: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 0; row < one.length; row++) {
    const current = [row + 1]
    for (let column = 0; column < other.length; column++) {
      const isSwapped = one[row] === other[column - 1] && one[row - 1] === other[column]
      const swapped = isSwapped ? (twoAbove[column - 1] ?? limit) + 1 : limit
      const replaced = (above[column] ?? 0) + (one[row] === other[column] ? 0 : 1)
      current.push(Math.min(swapped, replaced, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    ;[twoAbove, above] = [above, current]
  }
  return Math.min(above[other.length] ?? limit, limit)
}
