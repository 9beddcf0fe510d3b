import { isNode, isSeq, visit, type Document, type Node } from 'yaml'
import type { Steps } from '../../lib/async/run-in-slices.ts'
import type { StoredKey } from './stored-key.ts'

/** A key store in YAML with one line for each key: it is read and changed without a YAML parser. */
export interface KeyLines {
  /** Comments above `keys:`. */
  readonly head: readonly string[]
  /** Lines below `keys:`, without newlines: keys, and comments. */
  readonly lines: readonly string[]
}

/** A key of a store, with its one-based line in the file. */
export interface KeyLine {
  readonly entry: unknown
  readonly line: number
}

const keysLine = 'keys:'
const entryMark = '  - '
const comment = /^ *(?:#[^\p{C}]*)?$/u
/** Characters that YAML and JSON may read differently. */
const special = /[\p{C}\u2028\u2029]/u

/** Splits a store; undefined if it is not written with one line for each key, and so needs a YAML parser. */
export function splitKeyLines(text: string): KeyLines | undefined {
  const all = text.split('\n')
  const start = all.findIndex((line) => !comment.test(line))
  if (all[start] !== keysLine) return undefined
  if (all.at(-1) === '') all.pop()
  return { head: all.slice(0, start), lines: all.slice(start + 1) }
}

/** Parses the keys, in order; undefined if there is none, or a line is neither a key nor a comment. */
export function* parseKeyLines({ head, lines }: KeyLines): Steps<readonly KeyLine[] | undefined> {
  const keys: KeyLine[] = []
  for (const [index, line] of lines.entries()) {
    yield
    const entry = parseKeyLine(line)
    if (entry !== undefined) keys.push({ entry, line: head.length + 2 + index })
    else if (!comment.test(line)) return undefined
  }
  return keys.length === 0 ? undefined : keys
}

/**
 * Parses the line of a key; undefined if it is none. Accepts only JSON as `formatKeyLine` writes it, which means the same
 * in YAML: no member occurs twice.
 */
export function parseKeyLine(line: string): unknown {
  if (!line.startsWith(`${entryMark}{`) || special.test(line)) return undefined
  const json = line.slice(entryMark.length)
  try {
    const entry: unknown = JSON.parse(json)
    return JSON.stringify(entry) === json ? entry : undefined
  } catch {
    return undefined
  }
}

export function formatKeyLine(key: StoredKey): string {
  return entryMark + JSON.stringify(key)
}

export function formatKeyLines({ head, lines }: KeyLines): string {
  const list = lines.every((line) => comment.test(line)) ? [`${keysLine} []`, ...lines] : [keysLine, ...lines]
  return [...head, ...list, ''].join('\n')
}

/** Rewrites a store with one line for each key. Comments of a key move to lines above it. */
export function convertToKeyLines(document: Document, keys: readonly StoredKey[]): KeyLines {
  const list = document.get('keys')
  const items = isSeq(list) ? list.items : []
  return {
    head: [
      ...formatComments(document.commentBefore),
      ...listComments(document.contents, new Set(items)),
      ...formatComments(document.comment),
    ],
    lines: keys.flatMap((key, index) => {
      const item = items[index]
      const comments = isNode(item) ? listComments(item) : []
      return [...comments.map((text) => `  ${text}`), formatKeyLine(key)]
    }),
  }
}

function listComments(root: Node | null, omitted: ReadonlySet<unknown> = new Set()): readonly string[] {
  const comments: string[] = []
  visit(root, (_key, node) => {
    if (omitted.has(node)) return visit.SKIP
    if (isNode(node)) comments.push(...formatComments(node.commentBefore), ...formatComments(node.comment))
    return undefined
  })
  return comments
}

function formatComments(text: string | null | undefined): readonly string[] {
  return text === null || text === undefined || text === ''
    ? []
    : text.split('\n').map((line) => (line === '' ? '' : `#${line}`))
}
