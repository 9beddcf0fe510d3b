import type { z } from 'zod'
import { explainRemovedField } from '../../settings/index.ts'
import { getMembers } from '../../lib/json/json-values.ts'
import { listMembers, toSchemaNode, type SchemaNode } from '../../lib/schema-node.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { descriptionAnnotation, resourceApiVersion } from './api-version.ts'
import { policySchema } from './policy-schema.ts'
import {
  unreadable,
  yamlAlias,
  type Locate,
  type LocatedYaml,
  type Path,
  type Position,
  type ProblemPlace,
  type ReportProblem,
} from './read-yaml.ts'

/** A part of a document that a schema has checked. */
export type Checked<Value> =
  | { readonly isValid: true; readonly value: Value }
  | {
      readonly isValid: false
      readonly value: unknown
      /** The members that are mistaken or missing. */
      readonly mistaken: ReadonlySet<string>
    }

/** Returns a part as written, in which each mistaken member is replaced: by undefined if there is no replacement. */
export function repair<Value>(read: Checked<Value>, replacing: Readonly<Record<string, unknown>>): Value {
  if (read.isValid) return read.value
  const replaced = [...read.mistaken].map((name) => [name, replacing[name]])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without what the schema refuses
  return { ...getMembers(read.value), ...Object.fromEntries(replaced) } as Value
}

/** Reads the parts of a document. What it reports names the part and has its position in the file. */
export class DocumentReader {
  private readonly yaml: LocatedYaml
  private readonly locate: Locate
  private readonly reportAt: ReportProblem

  constructor(yaml: LocatedYaml, locate: Locate, report: ReportProblem) {
    this.yaml = yaml
    this.locate = locate
    this.reportAt = report
  }

  /** The whole document. */
  get value(): unknown {
    return this.yaml.value
  }

  /** Returns the position of a part, or that of a key of it. */
  position(path: Path, key?: string): Position {
    return this.locate(this.yaml.findOffset(path, key === undefined ? {} : { key }))
  }

  /** `problem` continues the name of the part. */
  report(path: Path, problem: string, place?: ProblemPlace): void {
    this.reportAt(this.yaml.findOffset(path, place), (formatPath(path) || 'the document') + problem)
  }

  /** Reports every mistake in a part, according to the schema. */
  check<Schema extends z.ZodType>(schema: Schema, path: Path): Checked<z.output<Schema>> {
    const value = getValue(this.value, path)
    const result = schema.safeParse(value)
    if (result.success) return { isValid: true, value: result.data }
    const mistaken = new Set<string>()
    for (const issue of result.error.issues) {
      const inner = issue.path.map((key) => (typeof key === 'number' ? key : String(key)))
      if (inner[0] !== undefined) mistaken.add(String(inner[0]))
      this.reportIssue(issue, [...path, ...inner], () => listMembers(nodeOf(schema), inner))
    }
    return { isValid: false, value, mistaken }
  }

  private reportIssue(issue: z.core.$ZodIssue, path: Path, listKnown: () => readonly string[]): void {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const unknown = [...path, key]
        const suggestion = suggestField(key, unknown, listKnown())
        this.reportAt(
          this.yaml.findOffset(path, { key }),
          `unknown field "${formatPath(unknown)}"${suggestion}`,
        )
      }
      return
    }
    if (issue.code === 'custom') return this.report(path, issue.message, issue.params)
    const { node } = this.yaml.find(path)
    const source = getMembers(node)['source']
    const value = getValue(this.value, path)
    if (value === unreadable) return
    const found = node === undefined ? 'missing' : describeValue(value, issue.code, String(source))
    this.report(path, ` is ${found}; expected ${describeExpected(issue, value, listKnown)}`)
  }
}

function formatPath(path: Path): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
  return text.replace(/^\./, '')
}

function getValue(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
        ? Reflect.get(parent, key)
        : undefined,
    value,
  )
}

function describeValue(value: unknown, code: z.core.$ZodIssue['code'], source: string): string {
  if (value === yamlAlias) return 'an alias; aliases are not supported'
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

function suggestField(name: string, place: Path, known: readonly string[]): string {
  const path = place.filter((key) => typeof key === 'string').join('.')
  const removed = explainRemovedField(path)
  if (removed !== '') return removed
  const misplaced = Object.hasOwn(misplacedFieldHints, path) ? misplacedFieldHints[path] : undefined
  if (misplaced !== undefined) return misplaced
  if (place.length > 1 && Object.hasOwn(policySchema.shape, name))
    return '; it is a field of the document, next to "rules"'
  const other = known.find((field) => fieldAliases[field]?.includes(name))
  if (other !== undefined) return `; did you mean "${other}"?`
  return suggestSimilar(name, known) || `; the fields here are ${known.join(', ')}`
}
