import { isMap, isNode, isScalar, isSeq, Scalar, type Node } from 'yaml'
import { misplacedFields, otherNames } from './language.ts'
import { didYouMean } from './suggestion.ts'

/** A value in a YAML document: its node, the name by which messages call it, and where messages about it point. */
export interface Field {
  /** `rules[0].effect`; empty for the document itself. */
  readonly name: string
  /** Undefined where the document has no such field. */
  readonly node: Node | undefined
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
  const known = Object.keys(fieldsOfIt) as Name[]
  if (!isMap(field.node)) return reportKind(field, `fields: ${known.join(', ')}`, report)
  const fields = new Map<string, Field>()
  for (const { key, value } of field.node.items) {
    const name = isScalar(key) ? String(key.value) : ''
    const offset = startOf(key, field.offset)
    if (known.some((candidate) => candidate === name)) {
      // `{ inherit }` has no value at all: that is empty, not left out.
      const node = (value as Node | null) ?? new Scalar(null)
      fields.set(name, { ...field, name: join(field.name, name), node, offset: startOf(node, offset) })
    } else {
      report(offset, `unknown field "${join(field.name, name)}"${suggestionFor(name, field, known)}`)
    }
  }
  const absent = (name: string): Field => ({ ...field, name: join(field.name, name), node: undefined })
  return Object.fromEntries(known.map((name) => [name, fields.get(name) ?? absent(name)])) as Record<
    Name,
    Field
  >
}

/** The items of a list. Reports and answers undefined for what is no list; `example` says what one looks like. */
export function itemsOf(field: Field, example: string, report: Report): readonly Field[] | undefined {
  if (!isSeq(field.node)) return reportKind(field, `a list, such as ${example}`, report)
  return field.node.items.map((item, index) => {
    const node = item as Node
    return { ...field, name: `${field.name}[${index}]`, node, offset: startOf(node, field.offset) }
  })
}

/** The text of a field. Reports and answers undefined for anything else. */
export function textOf(field: Field, report: Report): string | undefined {
  const value = isScalar(field.node) ? field.node.value : null
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
  if (isSeq(field.node) && field.node.items.length === 0) {
    report(field.offset, `${field.name} is empty; expected a list, such as ${example}`)
  }
  return texts
}

/** Judges one text of a list; what is wrong with it is reported. */
type CheckText = (text: string, item: Field) => void

/** The texts of a list, which may be empty. */
export function textsOf(field: Field, example: string, report: Report, check: CheckText): readonly string[] {
  return (itemsOf(field, example, report) ?? []).flatMap((item) => {
    const text = textOf(item, report)
    if (text === undefined) return []
    check(text, item)
    return [text]
  })
}

/** The value of a field that holds one of a few. Reports and answers undefined for anything else. */
export function choiceOf<Value extends string | boolean | number>(
  field: Field,
  choices: readonly Value[],
  report: Report,
): Value | undefined {
  const value = isScalar(field.node) ? field.node.value : undefined
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

function describe(node: Node | undefined): string {
  if (node === undefined) return 'missing'
  if (isMap(node)) return 'a map'
  if (isSeq(node)) return 'a list'
  if (!isScalar(node)) return 'an alias, which is not followed'
  if (node.value === null) return 'empty'
  return typeof node.value === 'string' ? JSON.stringify(node.value) : (node.source ?? 'no text')
}

function startOf(node: unknown, otherwise: number): number {
  return isNode(node) && node.range ? node.range[0] : otherwise
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`
}
