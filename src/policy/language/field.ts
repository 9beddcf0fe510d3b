import { descriptionAnnotation, resourceApiVersion } from './api-version.ts'
import { explainRemovedField } from '../../config/removed.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import type { YamlEntry, YamlNode } from './yaml/yaml-node.ts'

/**
 * A value in a YAML document with its name and position for messages. A class, because some thousand policies create a
 * million fields, and a getter in an object literal would create a function for each.
 */
export class Field {
  /** Undefined if the document does not contain the field. */
  readonly node: YamlNode | undefined
  readonly offset: number
  readonly file: string
  private readonly parent: Field | undefined
  private readonly key: string | number

  private constructor(
    node: YamlNode | undefined,
    offset: number,
    file: string,
    parent: Field | undefined,
    key: string | number,
  ) {
    this.node = node
    this.offset = offset
    this.file = file
    this.parent = parent
    this.key = key
  }

  static forDocument(node: YamlNode, file: string): Field {
    return new Field(node, node.start, file, undefined, '')
  }

  child(key: string | number, node: YamlNode | undefined, offset: number): Field {
    return new Field(node, offset, this.file, this, key)
  }

  /** Such as `rules[0].effect`; empty for the document itself. Computed on access, because only errors need it. */
  get name(): string {
    if (this.parent === undefined) return ''
    const { name } = this.parent
    return typeof this.key === 'number' ? `${name}[${this.key}]` : joinPath(name, this.key)
  }
}

export class Fields<Name extends string> {
  private readonly map: Field
  private readonly entries: readonly YamlEntry[]

  constructor(map: Field, entries: readonly YamlEntry[]) {
    this.map = map
    this.entries = entries
  }

  has(name: Name): boolean {
    return this.find(name) !== undefined
  }

  /** Returns the field; its node is undefined if the map does not contain it. */
  get(name: Name): Field {
    const entry = this.find(name)
    if (entry === undefined) return this.map.child(name, undefined, this.map.offset)
    const { value, start } = entry
    // `{ inherit }` has no value, which is reported as empty rather than missing.
    return this.map.child(name, value ?? emptyNode, value?.start ?? start)
  }

  /** The last one wins if a key is repeated, which is reported elsewhere. */
  private find(name: Name): YamlEntry | undefined {
    for (let index = this.entries.length - 1; index >= 0; index--) {
      const entry = this.entries[index]
      if (entry?.key === name && entry.isScalarKey) return entry
    }
    return undefined
  }
}

export type ReportProblem = (offset: number, message: string) => void

/** Returns a function that reports to `report`, and whether it was called. */
export function watchProblems(report: ReportProblem): {
  readonly report: ReportProblem
  readonly hasProblems: () => boolean
} {
  let count = 0
  return {
    report(offset, message) {
      count++
      report(offset, message)
    },
    hasProblems: () => count > 0,
  }
}

export function readOptional<Name extends string, Value>(
  fields: Fields<Name>,
  name: Name,
  read: (field: Field, report: ReportProblem) => Value,
  report: ReportProblem,
): Value | undefined {
  return fields.has(name) ? read(fields.get(name), report) : undefined
}

/** Unknown fields are reported; undefined if the value is not a map. */
export function createFieldsReader<Name extends string>(
  described: Readonly<Record<Name, unknown>>,
): (field: Field, report: ReportProblem) => Fields<Name> | undefined {
  const known = Object.keys(described)
  return (field, report) => {
    const { node } = field
    if (node?.kind !== 'map') return reportUnexpected(field, `fields: ${known.join(', ')}`, report)
    for (const { key, isScalarKey, start } of node.entries) {
      const name = isScalarKey ? key : ''
      if (known.includes(name)) continue
      report(start, `unknown field "${joinPath(field.name, name)}"${suggestField(name, field, known)}`)
    }
    return new Fields<Name>(field, node.entries)
  }
}

const emptyNode: YamlNode = { kind: 'scalar', start: 0, end: 0, value: null, source: '' }

/** Reports an error and returns undefined if the value is not a list; `example` is part of the message. */
export function readItems(
  field: Field,
  example: string,
  report: ReportProblem,
): readonly Field[] | undefined {
  const { node } = field
  if (node?.kind !== 'list') return reportUnexpected(field, `a list, such as ${example}`, report)
  return node.items.map((item, index) => field.child(index, item, item.start))
}

/** Reports an error and returns undefined for any other value. */
export function readText(field: Field, report: ReportProblem): string | undefined {
  const value = field.node?.kind === 'scalar' ? field.node.value : null
  if (typeof value === 'string') return value
  return reportUnexpected(
    field,
    value === null ? `text${suggestQuotes(field.node)}` : 'text: put it in quotes',
    report,
  )
}

/** In YAML, `{team}` without quotes is a map. */
function suggestQuotes(node: YamlNode | undefined): string {
  const [entry, ...more] = node?.kind === 'map' ? node.entries : []
  if (entry === undefined || entry.value !== undefined || more.length > 0) return ''
  return `: put it in quotes, '{${entry.key}}'`
}

const maxLineLength = 200
const lineGrammar = new RegExp(String.raw`^[^\p{C}\u2028\u2029]{1,${maxLineLength}}$`, 'u')

/** Reads a text of one line for people, such as a name and an address. Reports any other value and returns undefined. */
export function readLine(field: Field, report: ReportProblem): string | undefined {
  const text = readText(field, report)
  if (text === undefined || (lineGrammar.test(text) && text.trim() !== '')) return text
  const expected = `one line of 1 to ${maxLineLength} characters`
  report(field.offset, `${field.name} is ${JSON.stringify(text)}; expected ${expected}`)
  return undefined
}

/** Reads a list of texts that must not be empty. */
export function readNonEmptyTexts(
  field: Field,
  example: string,
  report: ReportProblem,
  validate: ValidateText,
): readonly string[] {
  const texts = readTexts(field, example, report, validate)
  if (field.node?.kind === 'list' && field.node.items.length === 0) {
    report(field.offset, `${field.name} is empty; expected a list, such as ${example}`)
  }
  return texts
}

/** Returns undefined if the text is valid, otherwise a function from the name of the item to the message. */
export type ValidateText = (text: string) => ((item: string) => string) | undefined

export const anyText: ValidateText = () => undefined

/** Reads a list of texts, which may be empty. Reports and omits other items. */
export function readTexts(
  field: Field,
  example: string,
  report: ReportProblem,
  validate: ValidateText,
): readonly string[] {
  const { node } = field
  if (node?.kind !== 'list') return reportUnexpected(field, `a list, such as ${example}`, report) ?? []
  const texts = node.items.map((item) => (item.kind === 'scalar' ? item.value : undefined))
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]
    const item = node.items[index] ?? emptyNode
    const error = typeof text === 'string' ? validate(text) : undefined
    if (typeof text !== 'string') readText(field.child(index, item, item.start), report)
    else if (error !== undefined) report(item.start, error(`${field.name}[${index}]`))
  }
  return texts.every(isText) ? texts : texts.filter(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Reports any other value and returns undefined. */
export function createChoiceReader<const Value extends string | boolean | number>(
  choices: readonly Value[],
): (field: Field, report: ReportProblem) => Value | undefined {
  return (field, report) => {
    const value = field.node?.kind === 'scalar' ? field.node.value : undefined
    for (const choice of choices) if (choice === value) return choice
    const mayMean = choices.length > 1 && typeof value === 'string'
    const suggestion = mayMean ? suggestSimilar(value, choices.map(String)) : ''
    return reportUnexpected(field, choices.join(' or ') + suggestion, report)
  }
}

export const readTrue = createChoiceReader([true])

/** Names used by other policy languages, with the field that corresponds. */
const fieldAliases: Readonly<Record<string, string>> = {
  action: 'operations',
  actions: 'operations',
  condition: 'when',
  conditions: 'when',
  group: 'groups',
  expires: 'until',
  expiresAt: 'until',
  if: 'when',
  permissions: 'operations',
  principals: 'subjects',
  resourceNames: 'tables',
  resources: 'tables',
  user: 'users',
  verbs: 'operations',
}

/** Hints for known fields in the wrong place, by path. */
const misplacedFieldHints: Readonly<Record<string, string>> = {
  'metadata.description': `; with apiVersion: ${resourceApiVersion} it is the annotation "${descriptionAnnotation}"`,
  'metadata.namespace': `; it is the Kubernetes namespace, and needs apiVersion: ${resourceApiVersion}`,
  'metadata.labels': `; it needs apiVersion: ${resourceApiVersion}`,
  'metadata.annotations': `; it needs apiVersion: ${resourceApiVersion}`,
  'rules.final':
    '; a deny always wins, and "final" is a field of the document, next to "rules": the operations that ' +
    'child policies cannot allow',
  'rules.onDeny': '; it is a field of the document, next to "rules", and applies to the namespace',
  'rules.inherit': '; it is a field of the document, next to "rules", and applies to the namespace',
  'rules.forEach': '; it is a field of the document, next to "rules": one document for each value',
  'rules.namespace': '; it is a field of the document, next to "rules": one document for each namespace',
}

function suggestField(name: string, parent: Field, known: readonly string[]): string {
  const path = joinPath(parent.name.replaceAll(/\[\d+\]/g, ''), name)
  const removed = explainRemovedField(path)
  if (removed !== '') return removed
  const misplaced = Object.hasOwn(misplacedFieldHints, path) ? misplacedFieldHints[path] : undefined
  if (misplaced !== undefined) return misplaced
  const other = Object.hasOwn(fieldAliases, name) ? fieldAliases[name] : undefined
  if (other !== undefined && known.includes(other)) return `; did you mean "${other}"?`
  return suggestSimilar(name, known) || `; the fields here are ${known.join(', ')}`
}

export function reportUnexpected(field: Field, expected: string, report: ReportProblem): undefined {
  const name = field.name === '' ? 'the document' : field.name
  report(field.offset, `${name} is ${describeNode(field.node)}; expected ${expected}`)
  return undefined
}

function describeNode(node: YamlNode | undefined): string {
  if (node === undefined) return 'missing'
  if (node.kind === 'map') return 'a map'
  if (node.kind === 'list') return 'a list'
  if (node.kind === 'alias') return 'an alias; aliases are not supported'
  if (node.value === null) return 'empty'
  return typeof node.value === 'string' ? JSON.stringify(node.value) : node.source
}

function joinPath(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`
}
