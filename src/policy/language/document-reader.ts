import { isMap, isScalar, isSeq, type Pair, type ParsedNode, type Scalar, type YAMLMap } from 'yaml'
import type { z } from 'zod'
import {
  explainRemovedField,
  getValue,
  listMembers,
  type SchemaNode,
  toSchemaNode,
} from '../../settings/index.ts'
import { getMembers, suggestSimilar } from '../../lib/index.ts'
import { describeOtherVariables, fillText, findInTemplate, type PolicyInstance } from './for-each.ts'
import { descriptionAnnotation, resourceApiVersion } from './policy-document.ts'
import type { Locate, Position, ReportProblem } from './read-yaml.ts'

export type Path = readonly (string | number)[]

/** Where in a value a problem is, if not at its beginning: at a key of the map, or at a character of the text. */
export interface ProblemPlace {
  readonly key?: string
  readonly index?: number
}

/** A part of a document that a schema has checked. */
interface Checked<Value> {
  readonly isValid: boolean
  /** If it is not valid, as written, but for the members that are mistaken or missing. */
  readonly value: Value
}

type Entry = Pair<ParsedNode, ParsedNode | null>

/** In place of what cannot be used, after an error has been reported. No field has this type. */
const unreadable = Symbol('unreadable')

/** Fields of a document whose texts are those of the whole policy, not of one value of `forEach`. */
const wholeFields: readonly unknown[] = ['metadata', 'forEach']

/** A document of a YAML file. */
export interface WrittenDocument {
  /** Of the file. */
  readonly text: string
  readonly locate: Locate
  readonly root: ParsedNode
  /** Its value fills all texts. */
  readonly instance: PolicyInstance | undefined
  /** The fields of a document, for suggestions. */
  readonly fields: readonly string[]
  readonly report: ReportProblem
}

/**
 * Reads the parts of a document. What it reports names the part and has its position in the file. Aliases are not followed,
 * and keys that are equal as text, such as `1` and `"1"`, are errors: one of their values would have no effect.
 */
export class DocumentReader {
  /** The whole document. */
  readonly value: unknown
  private readonly document: WrittenDocument
  private readonly pairs = new Map<YAMLMap.Parsed, ReadonlyMap<string, Entry>>()

  constructor(document: WrittenDocument) {
    this.document = document
    this.value = this.convert(document.root, [], document.instance)
  }

  private convert(node: ParsedNode, path: Path, instance: PolicyInstance | undefined): unknown {
    if (isScalar(node)) return this.fill(node.value, node.range[0], instance)
    if (isSeq(node)) return node.items.map((item, index) => this.convert(item, [...path, index], instance))
    if (!isMap(node)) {
      this.document.report(
        node.range[0],
        `${formatPath(path)} is an alias; aliases are not supported, and a text that begins with "*" needs quotes`,
      )
      return unreadable
    }
    const pairs = new Map<string, Entry>()
    const members: Record<string, unknown> = {}
    for (const pair of node.items) {
      const [offset] = pair.key.range
      const written = String(isScalar(pair.key) ? pair.key.value : pair.key)
      const own = node === this.document.root && wholeFields.includes(written) ? undefined : instance
      const filled = this.fill(written, offset, own)
      const key = typeof filled === 'string' ? filled : written
      const hint = key === 'apiVersion' ? '; expected a line "---" before another document' : ''
      if (pairs.has(key)) this.document.report(offset, `duplicate key ${JSON.stringify(key)}${hint}`)
      pairs.set(key, pair)
      const value = pair.value && this.convert(pair.value, [...path, key], own)
      // The schemas do not see it.
      if (key === '__proto__') this.document.report(offset, 'the key "__proto__" is not supported')
      else members[key] = value
    }
    this.pairs.set(node, pairs)
    return members
  }

  private fill(value: unknown, offset: number, instance: PolicyInstance | undefined): unknown {
    if (typeof value !== 'string' || instance === undefined || !value.includes('{')) return value
    const problems = describeOtherVariables(value, instance.variable)
    for (const problem of problems) this.document.report(offset, problem)
    return problems.length > 0 ? unreadable : fillText(value, instance)
  }

  /** Returns a part as written. */
  get(path: Path): unknown {
    return getValue(this.value, path)
  }

  /** Returns the position of a part, or that of a place in it. */
  position(path: Path, place?: ProblemPlace): Position {
    return this.document.locate(this.findOffset(path, place))
  }

  /** `problem` continues the name of the part. */
  report(path: Path, problem: string, place?: ProblemPlace): void {
    this.document.report(this.findOffset(path, place), (formatPath(path) || 'the document') + problem)
  }

  /** Reports every mistake in a part, according to the schema. Each mistaken member of it is replaced: by undefined by default. */
  check<Schema extends z.ZodType>(
    schema: Schema,
    path: Path,
    replacing: Readonly<Record<string, unknown>> = {},
  ): Checked<z.output<Schema>> {
    const written = this.get(path)
    const result = schema.safeParse(written)
    if (result.success) return { isValid: true, value: result.data }
    const mistaken = new Set<string>()
    for (const issue of result.error.issues) {
      const inner = issue.path.map((key) => (typeof key === 'number' ? key : String(key)))
      if (inner[0] !== undefined) mistaken.add(String(inner[0]))
      this.reportIssue(issue, [...path, ...inner], () => listMembers(nodeOf(schema), inner))
    }
    const replaced = Object.fromEntries([...mistaken].map((name) => [name, replacing[name]]))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without what the schema refuses
    const value = { ...getMembers(written), ...replaced } as z.output<Schema>
    return { isValid: false, value }
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
    const value = this.get(path)
    if (value === unreadable) return
    const { node } = this.find(path)
    const source = String(getMembers(node)['source'])
    const found = node === undefined ? 'missing' : describeValue(value, issue.code, source)
    this.report(path, ` is ${found}; expected ${describeExpected(issue, value, listKnown)}`)
  }

  /**
   * Returns how a part is written, and its offset: that of the map that lacks it if there is none, and of the key if it has no
   * value.
   */
  private find(path: Path): { readonly node: ParsedNode | null | undefined; readonly offset: number } {
    let node: ParsedNode | null | undefined = this.document.root
    let [offset] = this.document.root.range
    for (const key of path) {
      const pair: Entry | undefined = this.findPair(node, key)
      const value: ParsedNode | null | undefined = isSeq(node) ? node.items[Number(key)] : pair?.value
      const start = value ?? pair?.key
      if (start === undefined) return { node: undefined, offset }
      node = value
      ;[offset] = start.range
    }
    return { node, offset }
  }

  /** Returns the offset of a part as `find` does, or that of a key or a character of it. */
  private findOffset(path: Path, { key, index }: ProblemPlace = {}): number {
    const { node, offset } = this.find(path)
    if (key !== undefined) return this.findPair(node, key)?.key.range[0] ?? offset
    return index === undefined || !isScalar(node) ? offset : this.findCharacter(node, index)
  }

  private findPair(node: ParsedNode | null | undefined, key: string | number): Entry | undefined {
    return isMap(node) ? this.pairs.get(node)?.get(String(key)) : undefined
  }

  /**
   * Returns the offset of a character of a text. File and text differ by quotes, escapes, folding, indentation and the value
   * of `forEach`; both are scanned in parallel, skipping characters that are only in the file.
   */
  private findCharacter({ value, range: [start, end] }: Scalar.Parsed, indexInValue: number): number {
    const { instance, text } = this.document
    const template = String(value)
    const index = instance === undefined ? indexInValue : findInTemplate(template, instance, indexInValue)
    const first = text.charAt(start)
    // Plain scalars cannot start with these characters.
    let next = start + (/["']/.test(first) ? 1 : 0)
    if (/[|>]/.test(first)) next = text.indexOf('\n', start) + 1 || start
    let offset = next
    for (let position = 0; position <= index && position < template.length; position++) {
      const character = template[position]
      // A single line break in the file is folded to a space in the text.
      const isFound = (found: string | undefined): boolean =>
        found === character || (character === ' ' && found === '\n')
      for (offset = next; offset < end && !isFound(text[offset]); offset++);
      next = offset + 1
    }
    return Math.min(index < template.length ? offset : next, Math.max(start, end - 1))
  }
}

function formatPath(path: Path): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
  return text.replace(/^\./, '')
}

function describeValue(value: unknown, code: z.core.$ZodIssue['code'], source: string): string {
  if (value === null || code === 'too_small') return 'empty'
  if (Array.isArray(value)) return 'a list'
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

const nodes = new WeakMap<z.ZodType, SchemaNode>()

function nodeOf(schema: z.ZodType): SchemaNode {
  let node = nodes.get(schema)
  if (node === undefined) nodes.set(schema, (node = toSchemaNode(schema)))
  return node
}

/** Names used by other policy languages, by the field that corresponds. */
const fieldAliases: Readonly<Record<string, readonly string[]>> = {
  operations: ['action', 'actions', 'permissions', 'verbs'],
  subjects: ['principals'],
  users: ['user'],
  groups: ['group'],
  tables: ['resources', 'resourceNames'],
  when: ['if', 'condition', 'conditions'],
  until: ['expires', 'expiresAt'],
}

/** Hints for known fields in the wrong place, by path; all others are those of the document. */
const misplacedFieldHints: Readonly<Record<string, string>> = {
  'metadata.description': `; with apiVersion: ${resourceApiVersion} it is the annotation "${descriptionAnnotation}"`,
  'metadata.namespace': `; it is the Kubernetes namespace, and needs apiVersion: ${resourceApiVersion}`,
  'metadata.labels': `; it needs apiVersion: ${resourceApiVersion}`,
  'metadata.annotations': `; it needs apiVersion: ${resourceApiVersion}`,
  'rules.final':
    '; a deny always wins, and "final" is a field of the document, next to "rules": the operations that ' +
    'child policies cannot allow',
  'rules.columns':
    '; "restrict", a field of the document next to "rules", says what callers may read of a table',
  'rules.rows':
    '; "restrict", a field of the document next to "rules", says what callers may read of a table',
}

function suggestField(
  name: string,
  place: Path,
  known: readonly string[],
  ofDocument: readonly string[],
): string {
  const path = place.filter((key) => typeof key === 'string').join('.')
  const removed = explainRemovedField(path)
  if (removed !== '') return removed
  const misplaced = Object.hasOwn(misplacedFieldHints, path) ? misplacedFieldHints[path] : undefined
  if (misplaced !== undefined) return misplaced
  if (place.length > 1 && ofDocument.includes(name)) return '; it is a field of the document, next to "rules"'
  const other = known.find((field) => fieldAliases[field]?.includes(name))
  if (other !== undefined) return `; did you mean "${other}"?`
  return suggestSimilar(name, known) || `; the fields here are ${known.join(', ')}`
}
