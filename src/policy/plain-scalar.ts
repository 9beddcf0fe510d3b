import { Document, isScalar, type ScalarTag } from 'yaml'
import type { YamlScalar } from './yaml-node.ts'

/** How far a text without quotes goes: to a space, to the end of the line, or to what ends it between brackets too. */
export type Extent = 'word' | 'words' | 'words in brackets'

/** Thrown for what is beyond the plain part of YAML, or wrong. */
export const refused = new Error('this is no plain YAML')

export const space = 0x20
export const colon = 0x3a
const doubleQuote = 0x22
const singleQuote = 0x27
const backslash = 0x5c

/** The text, number or word that begins there, all on one line. Throws `refused`. */
export function scalarAt(text: string, start: number, extent: Extent): YamlScalar {
  const code = text.charCodeAt(start)
  if (code === doubleQuote) return inDoubleQuotes(text, start)
  if (code === singleQuote) return inSingleQuotes(text, start)
  if (!isA(beginning, code)) throw refused
  const end =
    extent === 'word' ? endOfWord(text, start, anywhere) : endOfWords(text, start, abilityIn[extent])
  const source = text.slice(start, end)
  return { kind: 'scalar', start, end, value: meaningOf(source, code), source }
}

/** Whether it begins a text in quotes. */
export function isQuote(code: number): boolean {
  return code === doubleQuote || code === singleQuote
}

function inDoubleQuotes(text: string, start: number): YamlScalar {
  let isEscaped = false
  let at = start + 1
  for (let code = text.charCodeAt(at); code !== doubleQuote; code = text.charCodeAt(++at)) {
    if (!(code >= space)) throw refused
    if (code !== backslash) continue
    isEscaped = true
    at++
  }
  const end = at + 1
  const source = isEscaped ? unescaped(text.slice(start, end)) : text.slice(start + 1, at)
  return { kind: 'scalar', start, end, value: source, source }
}

/** YAML knows all escapes of JSON, and others. */
function unescaped(quoted: string): string {
  try {
    return JSON.parse(quoted) as string
  } catch {
    throw refused
  }
}

function inSingleQuotes(text: string, start: number): YamlScalar {
  let end = start + 1
  for (;;) {
    const code = text.charCodeAt(end)
    if (!(code >= space)) throw refused
    end++
    if (code !== singleQuote) continue
    if (text.charCodeAt(end) !== singleQuote) break
    end++
  }
  const source = text.slice(start + 1, end - 1).replaceAll("''", "'")
  return { kind: 'scalar', start, end, value: source, source }
}

function endOfWords(text: string, start: number, ability: number): number {
  let end = endOfWord(text, start, ability)
  for (;;) {
    let next = end
    while (text.charCodeAt(next) === space) next++
    if (next === end || !isA(ability, text.charCodeAt(next))) return end
    end = endOfWord(text, next, ability)
  }
}

function endOfWord(text: string, start: number, ability: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    if (isA(ability, code)) continue
    if (code === colon && isA(afterColon, text.charCodeAt(at + 1))) continue
    return at
  }
}

// What a character may do in text without quotes.
const beginning = 1
const anywhere = 2
const outsideBrackets = 4
const afterColon = 8
const abilityIn = { words: outsideBrackets, 'words in brackets': anywhere } as const

const abilities = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code)
  const isVisible = /[!-~]/.test(character)
  return (
    (/[\w/$(]/.test(character) ? beginning : 0) |
    (isVisible && !/[#:,[\]{}]/.test(character) ? anywhere : 0) |
    (isVisible && !/[#:]/.test(character) ? outsideBrackets : 0) |
    (/[\w/:-]/.test(character) ? afterColon : 0)
  )
})

function isA(ability: number, code: number): boolean {
  return ((abilities[code] ?? 0) & ability) !== 0
}

/** The words that are no text, as the library tells them: numbers, null, true and false. */
const wordTags = new Document(null, { schema: 'core' }).schema.tags.filter(
  (tag): tag is ScalarTag & { test: RegExp } =>
    tag.collection === undefined && tag.default === true && tag.test !== undefined,
)

/** What a word without quotes means; `first` is its first character. */
function meaningOf(word: string, first: number): unknown {
  // No word of letters that is no text is longer than `false`, nor begins otherwise.
  if (first > 0x39 && (word.length > 5 || !'nNtTfF'.includes(word.charAt(0)))) return word
  const tag = wordTags.find(({ test }) => test.test(word))
  if (tag === undefined) return word
  const value = tag.resolve(word, () => undefined, {})
  return isScalar(value) ? value.value : value
}
