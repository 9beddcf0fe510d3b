import type { z } from 'zod'
import { explainRemovedField } from '../../config/index.ts'
import { listMembers, toSchemaNode, type SchemaNode } from '../../lib/schema-node.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { descriptionAnnotation, resourceApiVersion } from './api-version.ts'
import { yamlAlias, type LocatedYaml, type Path, type ReportProblem } from './located-yaml.ts'
import type { Locate, Position } from './read-yaml.ts'

/** A value of which any part may be missing, because it is missing or mistaken in the file. */
export type Lenient<Value> = Value extends readonly (infer Item)[]
  ? readonly (Lenient<Item> | undefined)[]
  : Value extends object
    ? { readonly [Key in keyof Value]?: Lenient<Value[Key]> | undefined }
    : Value

/** A document that is read. */
interface Reading {
  readonly yaml: LocatedYaml
  readonly locate: Locate
  readonly report: ReportProblem
  /** The places with a problem, and those around them. */
  readonly faulty: Set<string>
}

/** A place in a policy document. What is reported names it and has its position in the file. */
export class Place {
  private readonly reading: Reading
  private readonly path: Path

  private constructor(reading: Reading, path: Path) {
    this.reading = reading
    this.path = path
  }

  /** The document itself. */
  static ofDocument(yaml: LocatedYaml, locate: Locate, report: ReportProblem): Place {
    return new Place({ yaml, locate, report, faulty: new Set() }, [])
  }

  /** A place beneath, by names of fields and indexes of lists. */
  at(...keys: Path): Place {
    return new Place(this.reading, [...this.path, ...keys])
  }

  /** Such as `rules[0].effect`. */
  get name(): string {
    return formatPath(this.path) || 'the document'
  }

  /** That of the map around it if there is nothing at this place. */
  get position(): Position {
    return this.reading.locate(this.reading.yaml.find(this.path).offset)
  }

  get keyPosition(): Position {
    return this.reading.locate(this.reading.yaml.findKey(this.path))
  }

  /** The keys of a map in their order. */
  get keys(): readonly string[] {
    return this.reading.yaml.listKeys(this.path)
  }

  /** Whether anything was reported here or beneath. */
  get isFaulty(): boolean {
    const { faulty } = this.reading
    return faulty.size > 0 && faulty.has(JSON.stringify(this.path))
  }

  /** `problem` continues the name of the place. */
  report(problem: string): void {
    this.reportAt(this.reading.yaml.find(this.path).offset, this.name + problem)
  }

  /** Reports at the key, whose map the message names. */
  reportKey(problem: string): void {
    this.reportAt(this.reading.yaml.findKey(this.path), problem)
  }

  /** Reports at a character of the text that is here. */
  reportCharacter(index: number, problem: string): void {
    this.reportAt(this.reading.yaml.findCharacter(this.path, index), this.name + problem)
  }

  private reportAt(offset: number, message: string): void {
    const { report, faulty } = this.reading
    for (let length = 0; length <= this.path.length; length++)
      faulty.add(JSON.stringify(this.path.slice(0, length)))
    report(offset, message)
  }

  /** Reports every mistake in what is here, according to the schema. In the result, what is mistaken is undefined. */
  check<Schema extends z.ZodType>(schema: Schema): Lenient<z.output<Schema>> | undefined {
    const content = { here: getValue(this.reading.yaml.value, this.path) }
    const issues = schema.safeParse(content.here).error?.issues ?? []
    const mistaken = issues.flatMap((issue) => {
      const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)))
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys) this.at(...path).reportUnknown(key, listMembers(nodeOf(schema), path))
        return []
      }
      this.at(...path).reportIssue(issue, () => listMembers(nodeOf(schema), path))
      return [path]
    })
    for (const path of mistaken) omit(content, ['here', ...path])
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without what the schema refuses
    return content.here as Lenient<z.output<Schema>> | undefined
  }

  private reportUnknown(key: string, known: readonly string[]): void {
    const place = this.at(key)
    place.reportKey(`unknown field "${formatPath(place.path)}"${suggestField(key, place.path, known)}`)
  }

  private reportIssue(issue: z.core.$ZodIssue, listKnown: () => readonly string[]): void {
    const { node } = this.reading.yaml.find(this.path)
    const value = getValue(this.reading.yaml.value, this.path)
    const source = node !== null && node !== undefined && 'source' in node ? node.source : undefined
    const found = node === undefined ? 'missing' : describeValue(value, issue.code, String(source))
    if (issue.message.startsWith(':')) this.report(` is ${found}${issue.message}`)
    else this.report(` is ${found}; expected ${describeExpected(issue, value, listKnown)}`)
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

function omit(content: object, path: Path): void {
  const parent = getValue(content, path.slice(0, -1))
  const key = path.at(-1) ?? ''
  if (typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key))
    Reflect.set(parent, key, undefined)
}

function describeValue(value: unknown, code: z.core.$ZodIssue['code'], source: string): string {
  if (value === yamlAlias) return 'an alias; aliases are not supported'
  if (value === null || code === 'too_small') return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object')
    return Object.keys(value).length === 0 && code === 'custom' ? 'empty' : 'a map'
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

const ofDocument = '; it is a field of the document, next to "rules"'

/** Hints for known fields in the wrong place, by path. */
const misplacedFieldHints: Readonly<Record<string, string>> = {
  'metadata.description': `; with apiVersion: ${resourceApiVersion} it is the annotation "${descriptionAnnotation}"`,
  'metadata.namespace': `; it is the Kubernetes namespace, and needs apiVersion: ${resourceApiVersion}`,
  'metadata.labels': `; it needs apiVersion: ${resourceApiVersion}`,
  'metadata.annotations': `; it needs apiVersion: ${resourceApiVersion}`,
  'rules.final':
    '; a deny always wins, and "final" is a field of the document, next to "rules": the operations that ' +
    'child policies cannot allow',
  'rules.onDeny': `${ofDocument}, and applies to the namespace`,
  'rules.inherit': `${ofDocument}, and applies to the namespace`,
  'rules.forEach': `${ofDocument}: one document for each value`,
  'rules.namespace': `${ofDocument}: one document for each namespace`,
  'rules.restrict': ofDocument,
  'rules.columns':
    '; "restrict", a field of the document next to "rules", says what callers may read of a table',
  'rules.rows':
    '; "restrict", a field of the document next to "rules", says what callers may read of a table',
  'metadata.contact': ofDocument,
}

function suggestField(name: string, place: Path, known: readonly string[]): string {
  const path = place.filter((key) => typeof key === 'string').join('.')
  const removed = explainRemovedField(path)
  if (removed !== '') return removed
  const misplaced = Object.hasOwn(misplacedFieldHints, path) ? misplacedFieldHints[path] : undefined
  if (misplaced !== undefined) return misplaced
  const other = known.find((field) => fieldAliases[field]?.includes(name))
  if (other !== undefined) return `; did you mean "${other}"?`
  return suggestSimilar(name, known) || `; the fields here are ${known.join(', ')}`
}
