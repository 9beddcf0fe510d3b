import { misplacedFields, otherNames } from './language.ts'
import { didYouMean } from './suggestion.ts'
import type { YamlNode } from './yaml-node.ts'

/** A value in a YAML document: its node, the name by which messages call it, and where messages about it point. */
export interface Field {
  /** `rules[0].effect`; empty for the document itself. */
  readonly name: string
  /** Undefined where the document has no such field. */
  readonly node: YamlNode | undefined
  readonly offset: number
  /** The text of the whole file. */
  readonly file: string
}

/** Takes a fault: where it is, and what would be right. */
export type Report = (offset: number, message: string) => void

/** Reads a field that may be left out. */
export function optional<Value>(field: Field, read: (field: Field) => Value): Value | undefined {
  return field.node === undefined ? undefined : read(field)
}

/**
 * The fields of a map, by name; a field that is not there is answered as one without a node.
 * Reports fields that are not known, and answers undefined for what is no map.
 */
export function fieldsOf<Name extends string>(
  field: Field,
  fieldsOfIt: Readonly<Record<Name, string>>,
  report: Report,
): Readonly<Record<Name, Field>> | undefined {
  const { node, offset, file } = field
  if (node?.kind !== 'map') {
    return reportKind(field, `fields: ${Object.keys(fieldsOfIt).join(', ')}`, report)
  }
  // Copied, so that the fields of all such maps are found at the same places of an object.
  const fields: Record<string, Field | string> = { ...fieldsOfIt }
  for (const { key, isScalarKey, start, value } of node.entries) {
    const name = isScalarKey ? key : ''
    if (Object.hasOwn(fieldsOfIt, name)) {
      // `{ inherit }` has no value at all: that is empty, not left out.
      fields[name] = {
        name: join(field.name, name),
        node: value ?? nothing,
        offset: value?.start ?? start,
        file,
      }
    } else {
      const suggestion = suggestionFor(name, field, Object.keys(fieldsOfIt))
      report(start, `unknown field "${join(field.name, name)}"${suggestion}`)
    }
  }
  for (const name in fieldsOfIt) {
    if (typeof fields[name] === 'string') {
      fields[name] = { name: join(field.name, name), node: undefined, offset, file }
    }
  }
  return fields as Record<Name, Field>
}

const nothing: YamlNode = { kind: 'scalar', start: 0, end: 0, value: null, source: '' }

/** The items of a list. Reports and answers undefined for what is no list; `example` says what one looks like. */
export function itemsOf(field: Field, example: string, report: Report): readonly Field[] | undefined {
  const { name, node, file } = field
  if (node?.kind !== 'list') return reportKind(field, `a list, such as ${example}`, report)
  return node.items.map((item, index) => ({
    name: `${name}[${index}]`,
    node: item,
    offset: item.start,
    file,
  }))
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
  check: CheckText,
): readonly string[] {
  const texts = textsOf(field, example, report, check)
  if (field.node?.kind === 'list' && field.node.items.length === 0) {
    report(field.offset, `${field.name} is empty; expected a list, such as ${example}`)
  }
  return texts
}

/** Judges one text of a list; what is wrong with it is reported. */
type CheckText = (text: string, item: Field) => void

/** The texts of a list, which may be empty. */
export function textsOf(field: Field, example: string, report: Report, check: CheckText): readonly string[] {
  const texts: string[] = []
  for (const item of itemsOf(field, example, report) ?? []) {
    const text = textOf(item, report)
    if (text === undefined) continue
    check(text, item)
    texts.push(text)
  }
  return texts
}

/** The value of a field that holds one of a few. Reports and answers undefined for anything else. */
export function choiceOf<Value extends string | boolean | number>(
  field: Field,
  choices: readonly Value[],
  report: Report,
): Value | undefined {
  const value = field.node?.kind === 'scalar' ? field.node.value : undefined
  const chosen = choices.find((choice) => choice === value)
  if (chosen !== undefined) return chosen
  const mayMean = choices.length > 1 && typeof value === 'string'
  const suggestion = mayMean ? didYouMean(value, choices.map(String)) : ''
  return reportKind(field, choices.join(' or ') + suggestion, report)
}

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
  if (node.kind === 'alias') return 'an alias, which is not followed'
  if (node.value === null) return 'empty'
  return typeof node.value === 'string' ? JSON.stringify(node.value) : node.source
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`
}
