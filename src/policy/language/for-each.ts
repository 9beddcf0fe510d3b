import type { Steps } from '../../lib/async/run-in-slices.ts'
import { Field, Fields, readItems, reportUnexpected, type ReportProblem } from './field.ts'
import { fillText, formatPlaceholder, isVariableName } from './placeholder.ts'
import type { PolicyInstance } from './policy-document.ts'
import { mergeInstances } from './policy-instance.ts'
import { readLabel } from './read-rule.ts'
import type { YamlEntry, YamlNode } from './yaml/yaml-node.ts'

type ReadDocument = (
  document: Field,
  report: ReportProblem,
  instance: PolicyInstance | undefined,
) => Steps<void>

/**
 * Calls `read` with the document; if it has `forEach`, once for each value, which is then in place of `{variable}` in every
 * text outside of `metadata`. Offsets are those of the document as written. An error that all values have is reported once,
 * any other with the values that have it.
 */
export function* readInstances(document: Field, report: ReportProblem, read: ReadDocument): Steps<void> {
  const instances = readForEach(document, report)
  if (instances === undefined) {
    yield* read(document, report, undefined)
    return
  }
  const problems: { readonly item: Problem; readonly instance: PolicyInstance }[] = []
  for (const instance of instances) {
    const reportOwn: ReportProblem = (offset, message) =>
      problems.push({ item: { offset, message }, instance })
    yield* read(fillDocument(document, instance, reportOwn), reportOwn, instance)
  }
  const merged = mergeInstances(problems, instances.length, ({ offset }) => String(offset))
  for (const { offset, message } of merged) report(offset, message)
}

interface Problem {
  readonly offset: number
  readonly message: string
}

/** The product of values and rules bounds the time and memory that one file takes. */
const maxItems = 100_000
const repeatedFields: readonly string[] = ['rules', 'restrict', 'tests']

const oneVariable =
  'one variable, named by letters, digits and _, with its values, such as { team: [crm, billing] }'

/** Returns the valid values of `forEach`; undefined if the document has none. Reports all errors in it. */
function readForEach(document: Field, report: ReportProblem): readonly PolicyInstance[] | undefined {
  const { node } = document
  if (node?.kind !== 'map') return undefined
  const fields = new Fields<'forEach' | 'namespace'>(document, node.entries)
  if (!fields.has('forEach')) return undefined
  const field = fields.get('forEach')
  if (field.node?.kind !== 'map') return reportUnexpected(field, oneVariable, report) ?? []
  const { entries } = field.node
  const [variable = '', ...more] = entries.map(({ key }) => key)
  if (more.length > 0 || !isVariableName(variable)) {
    const found = entries.map(({ key }) => JSON.stringify(key)).join(', ') || 'no variable'
    report(field.offset, `forEach has ${found}; expected ${oneVariable}`)
    return []
  }
  if (!isInNamespace(fields.get('namespace'), variable)) {
    const placeholder = formatPlaceholder(variable)
    report(
      field.offset,
      `forEach.${variable}: "${placeholder}" is not in "namespace", so all values would have the same one; ` +
        `expected it there, such as namespace: ['${placeholder}']`,
    )
  }
  const values = readValues(new Fields<string>(field, entries).get(variable), report)
  const items = node.entries.map(({ key, value }) =>
    repeatedFields.includes(key) && value?.kind === 'list' ? value.items.length : 0,
  )
  const written = items.reduce((sum, count) => sum + count, 0)
  if (values.length * written > maxItems) {
    const count = `${values.length} values for ${written} rules and tests`
    report(
      field.offset,
      `forEach.${variable} has ${count}; expected at most ${maxItems} together, in several policies`,
    )
    return []
  }
  return values.map((value) => ({ variable, value }))
}

/** Whether the variable is in a namespace that is a list of texts. An error in another one is reported elsewhere. */
function isInNamespace({ node }: Field, variable: string): boolean {
  if (node?.kind !== 'list') return true
  const texts = node.items.map((item) => (item.kind === 'scalar' ? item.value : undefined))
  return texts.some((text) => typeof text !== 'string' || text.includes(formatPlaceholder(variable)))
}

/** Values are labels: none has a character with a meaning in names, patterns, paths or conditions. */
function readValues(field: Field, report: ReportProblem): readonly string[] {
  const items = readItems(field, '[crm, billing]', report)
  if (items?.length === 0)
    report(field.offset, `${field.name} is empty; expected a list, such as [crm, billing]`)
  const values = new Set<string>()
  for (const item of items ?? []) {
    const value = readLabel(item, report)
    if (value === undefined) continue
    if (values.has(value)) report(item.offset, `${item.name}: duplicate value "${value}"`)
    values.add(value)
  }
  return [...values]
}

/** Names and annotations are those of the whole policy. */
const wholeFields: readonly string[] = ['metadata', 'forEach']

function fillDocument(document: Field, instance: PolicyInstance, report: ReportProblem): Field {
  const { node, file } = document
  if (node?.kind !== 'map') return document
  const entries = node.entries.map((entry) =>
    wholeFields.includes(entry.key) ? entry : fillEntry(entry, instance, report),
  )
  return Field.forDocument({ ...node, entries }, file)
}

function fillNode(node: YamlNode, instance: PolicyInstance, report: ReportProblem): YamlNode {
  if (node.kind === 'map') {
    return { ...node, entries: node.entries.map((entry) => fillEntry(entry, instance, report)) }
  }
  if (node.kind === 'list')
    return { ...node, items: node.items.map((item) => fillNode(item, instance, report)) }
  if (node.kind === 'alias' || typeof node.value !== 'string') return node
  const filled = fillText(node.value, instance)
  if (filled === undefined) return node
  for (const message of filled.problems) report(node.start, message)
  return { ...node, value: filled.text, template: { text: node.value, indexOf: filled.indexInTemplate } }
}

function fillEntry(entry: YamlEntry, instance: PolicyInstance, report: ReportProblem): YamlEntry {
  const { key, start, value } = entry
  const filled = fillText(key, instance)
  for (const message of filled?.problems ?? []) report(start, message)
  return { ...entry, key: filled?.text ?? key, value: value && fillNode(value, instance, report) }
}
