import { isMap, isNode, isScalar, isSeq, Scalar, type Node } from 'yaml'
import { didYouMean } from './suggestion.ts'

/** A value in a YAML document: its node, the name by which messages call it, and where messages about it point. */
export interface Field {
  /** `rules[0].effect`; empty for the document itself. */
  readonly name: string
  /** Undefined where the document has no such field. */
  readonly node: Node | undefined
  readonly offset: number
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
  known: readonly Name[],
  report: Report,
): Readonly<Record<Name, Field>> | undefined {
  if (!isMap(field.node)) return reportKind(field, `fields: ${known.join(', ')}`, report)
  const fields = new Map<string, Field>()
  for (const { key, value } of field.node.items) {
    const name = isScalar(key) ? String(key.value) : ''
    const offset = startOf(key, field.offset)
    if (known.some((candidate) => candidate === name)) {
      // `{ inherit }` has no value at all: that is empty, not left out.
      const node = (value as Node | null) ?? new Scalar(null)
      fields.set(name, { name: join(field.name, name), node, offset: startOf(node, offset) })
    } else {
      const suggestion = didYouMean(name, known) || `; the fields here are ${known.join(', ')}`
      report(offset, `unknown field "${join(field.name, name)}"${suggestion}`)
    }
  }
  const absent = (name: string): Field => ({
    name: join(field.name, name),
    node: undefined,
    offset: field.offset,
  })
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
    return { name: `${field.name}[${index}]`, node, offset: startOf(node, field.offset) }
  })
}

/** The text of a field. Reports and answers undefined for anything else. */
export function textOf(field: Field, report: Report): string | undefined {
  const value = isScalar(field.node) ? field.node.value : null
  if (typeof value === 'string') return value
  return reportKind(field, value === null ? 'text' : 'text: put it in quotes', report)
}

/** The value of a field that holds one of a few. Reports and answers undefined for anything else. */
export function choiceOf<Value extends string | boolean>(
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
