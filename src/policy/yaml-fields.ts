import { misplacedFields, otherNames } from './language.ts'
import { didYouMean } from './suggestion.ts'
import type { YamlEntry, YamlNode } from './yaml-node.ts'

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
  static ofDocument(node: YamlNode, file: string): Field {
    return new Field(node, node.start, file, undefined, '')
  }

  /** The field of a map by its name, or the item of a list by its place. */
  within(key: string | number, node: YamlNode | undefined, offset: number): Field {
    return new Field(node, offset, this.file, this, key)
  }

  /** `rules[0].effect`; empty for the document itself. Made when it is asked for, as few fields have a fault. */
  get name(): string {
    if (this.parent === undefined) return ''
    const { name } = this.parent
    return typeof this.key === 'number' ? `${name}[${this.key}]` : join(name, this.key)
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
  of(name: Name): Field {
    const entry = this.find(name)
    if (entry === undefined) return this.map.within(name, undefined, this.map.offset)
    const { value, start } = entry
    // `{ inherit }` has no value at all: that is empty, not left out.
    return this.map.within(name, value ?? nothing, value?.start ?? start)
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
export type Report = (offset: number, message: string) => void

/** Reads a field that may be left out. */
export function optional<Name extends string, Value>(
  fields: Fields<Name>,
  name: Name,
  read: (field: Field, report: Report) => Value,
  report: Report,
): Value | undefined {
  return fields.has(name) ? read(fields.of(name), report) : undefined
}

/** A reader of maps with those fields. It reports those that are not known, and answers undefined for what is no map. */
export function fieldsReader<Name extends string>(
  fieldsOfIt: Readonly<Record<Name, string>>,
): (field: Field, report: Report) => Fields<Name> | undefined {
  const known = Object.keys(fieldsOfIt)
  return (field, report) => {
    const { node } = field
    if (node?.kind !== 'map') return reportKind(field, `fields: ${known.join(', ')}`, report)
    for (const { key, isScalarKey, start } of node.entries) {
      const name = isScalarKey ? key : ''
      if (known.includes(name)) continue
      report(start, `unknown field "${join(field.name, name)}"${suggestionFor(name, field, known)}`)
    }
    return new Fields<Name>(field, node.entries)
  }
}

const nothing: YamlNode = { kind: 'scalar', start: 0, end: 0, value: null, source: '' }

/** The items of a list. Reports and answers undefined for what is no list; `example` says what one looks like. */
export function itemsOf(field: Field, example: string, report: Report): readonly Field[] | undefined {
  const { node } = field
  if (node?.kind !== 'list') return reportKind(field, `a list, such as ${example}`, report)
  return node.items.map((item, index) => field.within(index, item, item.start))
}

/** The text of a field. Reports and answers undefined for anything else. */
export function textOf(field: Field, report: Report): string | undefined {
  const value = field.node?.kind === 'scalar' ? field.node.value : null
  if (typeof value === 'string') return value
  return reportKind(field, value === null ? 'text' : 'text: put it in quotes', report)
}

/** The texts of a list that is not empty. */
export function someTextsOf(
  field: Field,
  example: string,
  report: Report,
  faultOf: FaultOfText,
): readonly string[] {
  const texts = textsOf(field, example, report, faultOf)
  if (field.node?.kind === 'list' && field.node.items.length === 0) {
    report(field.offset, `${field.name} is empty; expected a list, such as ${example}`)
  }
  return texts
}

/** What is wrong with a text of a list, in words that begin with the name of the item; undefined where nothing is. */
export type FaultOfText = (text: string) => ((item: string) => string) | undefined

/** Where a list may hold any texts. */
export const anyText: FaultOfText = () => undefined

/** The texts of a list, which may be empty. */
export function textsOf(
  field: Field,
  example: string,
  report: Report,
  faultOf: FaultOfText,
): readonly string[] {
  const { node } = field
  if (node?.kind !== 'list') return reportKind(field, `a list, such as ${example}`, report) ?? []
  const texts = node.items.map((item) => (item.kind === 'scalar' ? item.value : undefined))
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]
    const item = node.items[index] ?? nothing
    const fault = typeof text === 'string' ? faultOf(text) : undefined
    if (typeof text !== 'string') textOf(field.within(index, item, item.start), report)
    else if (fault !== undefined) report(item.start, fault(`${field.name}[${index}]`))
  }
  return texts.every(isText) ? texts : texts.filter(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** A reader of fields that hold one of a few values. It reports and answers undefined for anything else. */
export function choiceReader<const Value extends string | boolean | number>(
  choices: readonly Value[],
): (field: Field, report: Report) => Value | undefined {
  return (field, report) => {
    const value = field.node?.kind === 'scalar' ? field.node.value : undefined
    for (const choice of choices) if (choice === value) return choice
    const mayMean = choices.length > 1 && typeof value === 'string'
    const suggestion = mayMean ? didYouMean(value, choices.map(String)) : ''
    return reportKind(field, choices.join(' or ') + suggestion, report)
  }
}

/** Reads a field that holds nothing but `true`. */
export const readTrue = choiceReader([true])

function suggestionFor(name: string, parent: Field, known: readonly string[]): string {
  const misplaced = misplacedFields[join(parent.name.replaceAll(/\[\d+\]/g, ''), name)]
  if (misplaced !== undefined) return misplaced
  const other = Object.hasOwn(otherNames, name) ? otherNames[name] : undefined
  if (other !== undefined && known.includes(other)) return `; did you mean "${other}"?`
  return didYouMean(name, known) || `; the fields here are ${known.join(', ')}`
}

function reportKind(field: Field, expected: string, report: Report): undefined {
  const name = field.name === '' ? 'the document' : field.name
  report(field.offset, `${name} is ${describe(field.node)}; expected ${expected}`)
  return undefined
}

function describe(node: YamlNode | undefined): string {
  if (node === undefined) return 'missing'
  if (node.kind === 'map') return 'a map'
  if (node.kind === 'list') return 'a list'
  if (node.kind === 'alias') return 'an alias; aliases are not supported'
  if (node.value === null) return 'empty'
  return typeof node.value === 'string' ? JSON.stringify(node.value) : node.source
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`
}
