const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

/**
 * Whether an object at any depth of a JSON text repeats a member: readers differ in which one they use. Names are
 * compared after unescaping, so `"s\u0075b"` repeats `"sub"`. The text must be valid JSON.
 */
export function hasDuplicateKey(text: string): boolean {
  // Names seen in each open object; undefined for an open array.
  const open: (Set<string> | undefined)[] = []
  let last = ''
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':' && isDuplicate(open.at(-1), last)) return true
    last = token
  }
  return false
}

function isDuplicate(names: Set<string> | undefined, written: string): boolean {
  const name = String(JSON.parse(written))
  if (names?.has(name) === true) return true
  names?.add(name)
  return false
}
