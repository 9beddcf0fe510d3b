export interface RegexMutant {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Weakens or tightens a regular expression literal, `/.../flags`, at one position each. */
export function findRegexMutants(literal: string): readonly RegexMutant[] {
  const mutants: RegexMutant[] = []
  const replace = (start: number, length: number, replacement: string): void => {
    mutants.push({ start, end: start + length, replacement })
  }
  const end = literal.lastIndexOf('/')
  let inClass = false
  for (let at = 1; at < end; at += 1) {
    const character = literal[at]
    if (character === '\\') {
      at += 1
    } else if (inClass) {
      inClass = character !== ']'
    } else if (character === '[') {
      inClass = true
      if (literal[at + 1] === '^') replace(at, 2, '[')
      else replace(at, 1, '[^')
    } else if (character === '^' || character === '$') {
      replace(at, 1, '')
    } else if (character === '+') {
      replace(at, 1, '*')
    } else if (character === '*') {
      replace(at, 1, '+')
    } else if (character === '?' && literal[at - 1] !== '(') {
      replace(at, 1, '')
    } else if (character === '{') {
      const bound = /^\{(\d+)(?:,(\d+))?\}/.exec(literal.slice(at, end))
      if (bound === null) continue
      const [whole, least = '', most = least] = bound
      replace(at, whole.length, `{${least},${Number(most) + 1}}`)
      at += whole.length - 1
    }
  }
  const flag = literal.indexOf('i', end)
  if (flag !== -1) replace(flag, 1, '')
  return mutants
}
