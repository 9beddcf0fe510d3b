import { isMap, isScalar, isSeq, type ParsedNode } from 'yaml'
import type { z } from 'zod'
import { explainRemovedField, getValue, listMembers, toSchemaNode } from '../../settings/index.ts'
import { getMembers, suggestSimilar } from '../../lib/index.ts'
import { describeOtherVariables, fillText, type PolicyInstance } from './for-each.ts'
import type { Locate, Position, ReportProblem } from './read-yaml.ts'

export type Path = readonly (string | number)[]

/** Where in a value a problem is: at a key of the map, or at a character of the text. */
export interface ProblemLocation {
  readonly key?: string
  readonly index?: number
}

interface Checked<Value> {
  readonly isValid: boolean
  readonly value: Value
}

/** How a part is written: its node, if it has a value, and its key in a map. */
interface Written {
  readonly node: ParsedNode | null
  readonly key?: ParsedNode
}

/** Replaces a value that cannot be used, after an error has been reported. */
const unreadable = Symbol('unreadable')

/** Fields of a document whose texts are those of the whole policy, not of one value of `forEach`. */
const wholeFields: readonly unknown[] = ['metadata', 'forEach']

export interface WrittenDocument {
  /** Of the file. */
  readonly locate: Locate
  readonly root: ParsedNode
  /** Its value fills all texts. */
  readonly instance: PolicyInstance | undefined
  /** The fields of a document, for suggestions. */
  readonly fields: readonly string[]
  readonly report: ReportProblem
}

/**
 * Reads the parts of a document. Its reports name the part and have its position in the file. Aliases are not followed,
 * and keys that are equal as text, such as `1` and `"1"`, are errors: one of their values would have no effect.
 */
export class DocumentReader {
  readonly value: unknown
  private readonly document: WrittenDocument
  private readonly written = new Map<string, Written>()
  /** The names of the invalid members, by the path of each part that is not valid. */
  private readonly invalid = new Map<string, Set<string>>()

  constructor(document: WrittenDocument) {
    this.document = document
    this.value = this.convert({ node: document.root }, [], document.instance)
  }

  private convert(written: Written, path: Path, instance: PolicyInstance | undefined): unknown {
    const { node } = written
    this.written.set(joinPath(path), written)
    if (node === null) return null
    if (isScalar(node)) return this.fill(node.value, node.range[0], instance)
    if (isSeq(node))
      return node.items.map((item, index) => this.convert({ node: item }, [...path, index], instance))
    if (!isMap(node)) {
      this.document.report(
        node.range[0],
        `${formatPath(path)} is an alias; aliases are not supported, and a text that begins with "*" needs quotes`,
      )
      return unreadable
    }
    const members: Record<string, unknown> = {}
    for (const { key: keyNode, value } of node.items) {
      const [offset] = keyNode.range
      const text = String(isScalar(keyNode) ? keyNode.value : keyNode)
      const own = path.length === 0 && wholeFields.includes(text) ? undefined : instance
      const filled = this.fill(text, offset, own)
      const key = typeof filled === 'string' ? filled : text
      const hint = key === 'apiVersion' ? '; expected a line "---" before another document' : ''
      if (Object.hasOwn(members, key))
        this.document.report(offset, `duplicate key ${JSON.stringify(key)}${hint}`)
      const member = this.convert({ node: value, key: keyNode }, [...path, key], own)
      // The schemas do not see it.
      if (key === '__proto__') this.document.report(offset, 'the key "__proto__" is not supported')
      else members[key] = member
    }
    return members
  }

  private fill(value: unknown, offset: number, instance: PolicyInstance | undefined): unknown {
    if (typeof value !== 'string' || instance === undefined || !value.includes('{')) return value
    const problems = describeOtherVariables(value, instance.variable)
    for (const problem of problems) this.document.report(offset, problem)
    return problems.length > 0 ? unreadable : fillText(value, instance)
  }

  position(path: Path, location?: ProblemLocation): Position {
    return this.document.locate(this.findOffset(path, location))
  }

  /** `problem` continues the name of the part. Characters are counted in texts that are the same for all values of `forEach`. */
  report(path: Path, problem: string, location: ProblemLocation = {}): void {
    const { index } = this.document.instance === undefined ? location : {}
    const at = index === undefined ? '' : ` (character ${index + 1})`
    this.document.report(this.findOffset(path, location), (formatPath(path) || 'the document') + problem + at)
  }

  check(schema: z.ZodType, path: Path = []): void {
    for (const issue of schema.safeParse(getValue(this.value, path)).error?.issues ?? []) {
      const inner = issue.path.map((key) => (typeof key === 'number' ? key : String(key)))
      const whole = [...path, ...inner]
      for (let length = 0; length <= whole.length; length++) {
        const key = joinPath(whole.slice(0, length))
        const members = this.invalid.get(key) ?? new Set()
        this.invalid.set(key, members.add(String(whole[length])))
      }
      this.reportIssue(issue, whole, () => listMembers(toSchemaNode(schema), inner))
    }
  }

  /**
   * Returns a part that has been checked, as of the type that its schema has. If it is not valid, members that are invalid or
   * missing are replaced, if only by undefined.
   */
  read<Value>(path: Path, replacing: Readonly<Record<string, unknown>> = {}): Checked<Value> {
    const written = getValue(this.value, path)
    const invalid = this.invalid.get(joinPath(path))
    const replaced = Object.fromEntries([...(invalid ?? [])].map((name) => [name, replacing[name]]))
    const value = invalid === undefined ? written : { ...getMembers(written), ...replaced }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without what the schema refuses
    return { isValid: invalid === undefined, value: value as Value }
  }

  private reportIssue(issue: z.core.$ZodIssue, path: Path, listKnown: () => readonly string[]): void {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const unknown = [...path, key]
        const suggestion = suggestField(key, unknown, listKnown(), this.document.fields)
        this.document.report(
          this.findOffset(path, { key }),
          `unknown field "${formatPath(unknown)}"${suggestion}`,
        )
      }
      return
    }
    if (issue.code === 'custom') return this.report(path, issue.message, issue.params)
    const value = getValue(this.value, path)
    if (value === unreadable) return
    const written = this.written.get(joinPath(path))
    const source = String(getMembers(written?.node)['source'])
    const found = written === undefined ? 'missing' : describeValue(value, issue.code, source)
    this.report(path, ` is ${found}; expected ${describeExpected(issue, value, listKnown)}`)
  }

  /** Returns the offset of a part or of a key of it; of the map that lacks it, or the key if it has no value. */
  private findOffset(path: Path, { key }: ProblemLocation = {}): number {
    const ofKey = key === undefined ? undefined : this.written.get(joinPath([...path, key]))?.key
    if (ofKey !== undefined) return ofKey.range[0]
    const written = this.written.get(joinPath(path))
    const start = written?.node ?? written?.key
    if (start === undefined) return this.findOffset(path.slice(0, -1))
    return start.range[0]
  }
}

function joinPath(path: Path): string {
  return path.join('\0')
}

function formatPath(path: Path): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
  return text.replace(/^\./, '')
}

function describeValue(value: unknown, code: z.core.$ZodIssue['code'], source: string): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return code === 'too_small' && value.length === 0 ? 'empty' : 'a list'
  if (typeof value === 'object') return 'a map'
  return typeof value === 'string' ? JSON.stringify(value) : source
}

function describeExpected(
  issue: z.core.$ZodIssue,
  value: unknown,
  listKnown: () => readonly string[],
): string {
  const expected = issue.code === 'invalid_type' ? issue.expected : undefined
  if (expected === 'object') return `fields: ${listKnown().join(', ')}`
  if (expected === 'string') return `text${suggestQuotes(value)}`
  const choices = issue.code === 'invalid_value' ? issue.values.map(String) : ['true', 'false']
  if (issue.code !== 'invalid_value' && expected !== 'boolean') return issue.message
  const mayMean = choices.length > 1 && typeof value === 'string'
  return choices.join(' or ') + (mayMean ? suggestSimilar(value, choices) : '')
}

/** In YAML, `{team}` without quotes is a map. */
function suggestQuotes(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return ': put it in quotes'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ''
  const [[key, member] = [], ...more] = Object.entries(value)
  return key !== undefined && member === null && more.length === 0 ? `: put it in quotes, '{${key}}'` : ''
}

function suggestField(
  name: string,
  at: Path,
  known: readonly string[],
  ofDocument: readonly string[],
): string {
  const path = at.filter((key) => typeof key === 'string').join('.')
  const removed = explainRemovedField(path)
  if (removed !== '') return removed
  if (at.length > 1 && ofDocument.includes(name)) return '; it is a field of the document, next to "rules"'
  return suggestSimilar(name, known) || `; the fields here are ${known.join(', ')}`
}
