import { misplacedFieldHints, fieldAliases } from './policy-fields.ts'
import { suggestSimilar } from '../../lib/did-you-mean.ts'
import type { YamlEntry, YamlNode } from './yaml/yaml-node.ts'

/**
 * A value in a YAML document: its node, the name by which messages call it, and where messages about it point. A class,
 * as a million of them are made for some thousand policies, and a getter of an object costs a function for each.
 */
export class Field {
  /** Undefined where the document has no such field. */
  readonly node: YamlNode | undefined
  readonly offset: number
  /** The text of the whole file. */
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

  /** The field that is the document itself. */
  static forDocument(node: YamlNode, file: string): Field {
    return new Field(node, node.start, file, undefined, '')
  }

  /** The field of a map by its name, or the item of a list by its place. */
  child(key: string | number, node: YamlNode | undefined, offset: number): Field {
    return new Field(node, offset, this.file, this, key)
  }

  /** `rules[0].effect`; empty for the document itself. Made when it is asked for, as few fields have a fault. */
  get name(): string {
    if (this.parent === undefined) return ''
    const { name } = this.parent
    return typeof this.key === 'number' ? `${name}[${this.key}]` : joinPath(name, this.key)
  }
}

/** The fields of a map, all of which are known. */
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

  /** The field of that name; without a node where it is not there. */
  get(name: Name): Field {
    const entry = this.find(name)
    if (entry === undefined) return this.map.child(name, undefined, this.map.offset)
    const { value, start } = entry
    // `{ inherit }` has no value at all: that is empty, not left out.
    return this.map.child(name, value ?? emptyNode, value?.start ?? start)
  }

  /** Of a name that is repeated, which is a fault, the last. */
  private find(name: Name): YamlEntry | undefined {
    for (let index = this.entries.length - 1; index >= 0; index--) {
      const entry = this.entries[index]
      if (entry?.key === name && entry.isScalarKey) return entry
    }
    return undefined
  }
}

/** Takes a fault: where it is, and what would be right. */
export type ReportProblem = (offset: number, message: string) => void

/** Reads a field that may be left out. */
export function readOptional<Name extends string, Value>(
  fields: Fields<Name>,
  name: Name,
  read: (field: Field, report: ReportProblem) => Value,
  report: ReportProblem,
): Value | undefined {
  return fields.has(name) ? read(fields.get(name), report) : undefined
}

/** A reader of maps with those fields. It reports those that are not known, and answers undefined for what is no map. */
export function createFieldsReader<Name extends string>(
  fieldsOfIt: Readonly<Record<Name, string>>,
): (field: Field, report: ReportProblem) => Fields<Name> | undefined {
  const known = Object.keys(fieldsOfIt)
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

/** The items of a list. Reports and answers undefined for what is no list; `example` says what one looks like. */
export function readItems(
  field: Field,
  example: string,
  report: ReportProblem,
): readonly Field[] | undefined {
  const { node } = field
  if (node?.kind !== 'list') return reportUnexpected(field, `a list, such as ${example}`, report)
  return node.items.map((item, index) => field.child(index, item, item.start))
}

/** The text of a field. Reports and answers undefined for anything else. */
export function readText(field: Field, report: ReportProblem): string | undefined {
  const value = field.node?.kind === 'scalar' ? field.node.value : null
  if (typeof value === 'string') return value
  return reportUnexpected(field, value === null ? 'text' : 'text: put it in quotes', report)
}

/** The texts of a list that is not empty. */
export function readNonEmptyTexts(
  field: Field,
  example: string,
  report: ReportProblem,
  errorOf: ValidateText,
): readonly string[] {
  const texts = readTexts(field, example, report, errorOf)
  if (field.node?.kind === 'list' && field.node.items.length === 0) {
    report(field.offset, `${field.name} is empty; expected a list, such as ${example}`)
  }
  return texts
}

/** What is wrong with a text of a list, in words that begin with the name of the item; undefined where nothing is. */
export type ValidateText = (text: string) => ((item: string) => string) | undefined

/** Where a list may hold any texts. */
export const anyText: ValidateText = () => undefined

/** The texts of a list, which may be empty. */
export function readTexts(
  field: Field,
  example: string,
  report: ReportProblem,
  errorOf: ValidateText,
): readonly string[] {
  const { node } = field
  if (node?.kind !== 'list') return reportUnexpected(field, `a list, such as ${example}`, report) ?? []
  const texts = node.items.map((item) => (item.kind === 'scalar' ? item.value : undefined))
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]
    const item = node.items[index] ?? emptyNode
    const error = typeof text === 'string' ? errorOf(text) : undefined
    if (typeof text !== 'string') readText(field.child(index, item, item.start), report)
    else if (error !== undefined) report(item.start, error(`${field.name}[${index}]`))
  }
  return texts.every(isText) ? texts : texts.filter(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** A reader of fields that hold one of a few values. It reports and answers undefined for anything else. */
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

/** Reads a field that holds nothing but `true`. */
export const readTrue = createChoiceReader([true])

function suggestField(name: string, parent: Field, known: readonly string[]): string {
  const misplaced = misplacedFieldHints[joinPath(parent.name.replaceAll(/\[\d+\]/g, ''), name)]
  if (misplaced !== undefined) return misplaced
  const other = Object.hasOwn(fieldAliases, name) ? fieldAliases[name] : undefined
  if (other !== undefined && known.includes(other)) return `; did you mean "${other}"?`
  return suggestSimilar(name, known) || `; the fields here are ${known.join(', ')}`
}

function reportUnexpected(field: Field, expected: string, report: ReportProblem): undefined {
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
