import { colon, isQuote, refused, scalarAt, space, type Extent } from './plain-scalar.ts'
import type { YamlEntry, YamlMap, YamlNode, YamlScalar } from './yaml-node.ts'

/** Answers what a document holds, undefined for nothing but comments, and `notPlain` where it must be read otherwise. */
type ReadPlainYaml = (from: number, to: number) => YamlNode | undefined | typeof notPlain

/** What is beyond the plain part of YAML, or wrong. */
export const notPlain = Symbol('not plain YAML')

/**
 * A reader of the documents of a text that are written in the plain part of YAML, as policies mostly are: maps and
 * lists in either style, words and quotes on one line, comments, JSON. More than ten times as fast as the library, it
 * answers the very nodes that the library would (a property test), or `notPlain` for all that it does not surely
 * understand: anchors, tags, texts over several lines, empty values, repeated keys, tabs, and whatever is a fault.
 * Documents begin and end at the beginning of a line.
 */
export function plainYamlReader(text: string): ReadPlainYaml {
  let end = 0
  let position = 0
  // Of the line in which the position is; -1 at the end.
  let indent = -1
  let depth = 0
  // What was found so far of the lists and maps that have not ended: each cuts its own off when it does.
  const items: YamlNode[] = []
  const entries: YamlEntry[] = []

  return (from, to) => {
    position = from
    end = to
    depth = 0
    items.length = 0
    entries.length = 0
    try {
      nextLine()
      if (indent < 0) return undefined
      const node = nodeOnLines(-1)
      // A line that is indented as no map or list around it was taken by none of them.
      return indent < 0 ? node : notPlain
    } catch (error) {
      if (error === refused) return notPlain
      throw error
    }
  }

  /** Goes to the next line that holds something, from the beginning of a line. */
  function nextLine(): void {
    while (position < end) {
      const start = position
      skipSpaces()
      const code = text.charCodeAt(position)
      if (code !== newline && code !== hash && position < end) {
        indent = position - start
        return
      }
      skipLine()
    }
    indent = -1
  }

  /** Goes on after what must be the last of a line. */
  function endLine(): void {
    const start = position
    skipSpaces()
    const code = text.charCodeAt(position)
    const isComment = code === hash && position > start
    if (code === newline) position++
    else if (isComment || position >= end) skipLine()
    else throw refused
    nextLine()
  }

  function skipLine(): void {
    const next = text.indexOf('\n', position)
    position = next < 0 ? end : next + 1
  }

  function skipSpaces(): void {
    while (text.charCodeAt(position) === space) position++
  }

  /** What begins a line and ends with one, within what is indented by `outer`. */
  function nodeOnLines(outer: number): YamlNode {
    if (isItem()) return listOnLines(indent)
    if (!isOpening(text.charCodeAt(position))) return mapOnLines(indent, undefined)
    const node = inFlow(outer)
    endLine()
    return node
  }

  function isItem(): boolean {
    return text.charCodeAt(position) === dash && text.charCodeAt(position + 1) === space
  }

  function listOnLines(column: number): YamlNode {
    deeper()
    const start = position
    const first = items.length
    for (;;) {
      const dashAt = position
      position++
      skipSpaces()
      items.push(itemOnLines(column, column + position - dashAt))
      if (indent !== column || !isItem()) break
    }
    depth--
    return { kind: 'list', start, items: cutOff(items, first) }
  }

  /** An item of the list in `column` that begins in `inner`, on the line of its dash. */
  function itemOnLines(column: number, inner: number): YamlNode {
    if (isOpening(text.charCodeAt(position))) {
      const node = inFlow(column)
      endLine()
      return node
    }
    const start = position
    const word = scalar('word')
    if (isKeyEnd()) return mapOnLines(inner, word)
    position = start
    const item = text.charCodeAt(word.end) === newline ? word : scalar('words')
    position = item.end
    endLine()
    return item
  }

  /** A map whose keys stand in `column`; the first may have been read. */
  function mapOnLines(column: number, first: YamlScalar | undefined): YamlMap {
    deeper()
    const start = first?.start ?? position
    const firstEntry = entries.length
    let key = first ?? scalar('word')
    for (;;) {
      if (!isKeyEnd()) throw refused
      position++
      add(firstEntry, key, valueOnLines(column))
      if (indent !== column || isItem()) break
      key = scalar('word')
    }
    depth--
    return { kind: 'map', start, entries: cutOff(entries, firstEntry) }
  }

  /** Adds to the map whose entries begin with that one. */
  function add(first: number, { value: key, start, end }: YamlScalar, value: YamlNode): void {
    if (typeof key !== 'string' || end - start > maximumKeyLength) throw refused
    if (entries.length - first > maximumEntries) throw refused
    for (let index = first; index < entries.length; index++) if (entries[index]?.key === key) throw refused
    entries.push({ key, isScalarKey: true, start, value })
  }

  function isKeyEnd(): boolean {
    if (text.charCodeAt(position) !== colon) return false
    const next = text.charCodeAt(position + 1)
    return next === space || next === newline
  }

  /** The value of a key in `column`: on the same line, or on lines that are indented more; lists need not be. */
  function valueOnLines(column: number): YamlNode {
    const start = position
    skipSpaces()
    const code = text.charCodeAt(position)
    if (code === newline || code === hash || position >= end) {
      position = start
      endLine()
      if (indent > column || (indent === column && isItem())) return nodeOnLines(column)
      throw refused
    }
    const value = isOpening(code) ? inFlow(column) : scalar('words')
    endLine()
    return value
  }

  /** A value between brackets and commas; its lines must be indented by more than `outer`. */
  function inFlow(outer: number): YamlNode {
    const code = text.charCodeAt(position)
    if (!isOpening(code)) return scalar('words in brackets')
    deeper()
    const start = position++
    const isList = code === openingBracket
    const closing = isList ? closingBracket : closingBrace
    const [firstItem, firstEntry] = [items.length, entries.length]
    skipGap(outer)
    if (text.charCodeAt(position) === closing) position++
    else {
      for (;;) {
        if (isList) items.push(inFlow(outer))
        else addEntryInFlow(firstEntry, outer)
        skipGap(outer)
        const next = text.charCodeAt(position++)
        if (next === closing) break
        if (next !== comma) throw refused
        skipGap(outer)
      }
    }
    depth--
    return isList
      ? { kind: 'list', start, items: cutOff(items, firstItem) }
      : { kind: 'map', start, entries: cutOff(entries, firstEntry) }
  }

  function addEntryInFlow(firstEntry: number, outer: number): void {
    const isQuoted = isQuote(text.charCodeAt(position))
    const key = scalar('word')
    if (!isKeyEnd() && !(isQuoted && text.charCodeAt(position) === colon)) throw refused
    position++
    skipGap(outer)
    add(firstEntry, key, inFlow(outer))
  }

  function skipGap(outer: number): void {
    skipSpaces()
    while (text.charCodeAt(position) === newline) {
      const line = ++position
      skipSpaces()
      const isBlank = text.charCodeAt(position) === newline
      if (position >= end || (!isBlank && position - line <= outer)) throw refused
    }
  }

  function scalar(extent: Extent): YamlScalar {
    const found = scalarAt(text, position, extent)
    position = found.end
    return found
  }

  function deeper(): void {
    if (++depth > maximumDepth) throw refused
  }
}

/** What was added from there on, which is no longer in the list. */
function cutOff<Value>(list: Value[], first: number): readonly Value[] {
  const cut = list.slice(first)
  while (list.length > first) list.pop()
  return cut
}

const maximumDepth = 64
const maximumEntries = 64
/** The library refuses keys of 1024 characters. */
const maximumKeyLength = 1000

const newline = 0x0a
const hash = 0x23
const comma = 0x2c
const dash = 0x2d
const openingBracket = 0x5b
const closingBracket = 0x5d
const openingBrace = 0x7b
const closingBrace = 0x7d

function isOpening(code: number): boolean {
  return code === openingBracket || code === openingBrace
}
