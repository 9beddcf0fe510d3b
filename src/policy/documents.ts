import { isScalar, LineCounter, parseAllDocuments, type Document } from 'yaml'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import type { PolicyProblem } from './policy-error.ts'
import { labelOf, namespaceOf, ruleOf } from './rule-fields.ts'
import { choiceOf, fieldsOf, itemsOf, optional, textOf, type Field, type Report } from './yaml-fields.ts'

/** The policies of one file, and every fault in it; where there is a fault, the policies must not be used. */
export interface ParsedPolicies {
  readonly documents: readonly PolicyDocument[]
  readonly problems: readonly PolicyProblem[]
}

/** Where an offset in a file stands, both from 1. */
type Locate = (offset: number) => { readonly line: number; readonly column: number }

/**
 * Reads the AccessPolicy documents of one YAML text (1.2, core schema). Aliases are not followed: who reads a
 * policy sees all of what it says, and a small file cannot become a large one.
 */
export function parsePolicies(text: string, file: string): ParsedPolicies {
  const lines = new LineCounter()
  const locate: Locate = (offset) => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const problems: PolicyProblem[] = []
  const report: Report = (offset, message) => problems.push({ file, ...locate(offset), message })
  // Pretty errors repeat the position, and quote the file.
  const yaml = {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    resolveKnownTags: false,
  }
  const documents: PolicyDocument[] = []
  for (const document of parseAllDocuments(text, yaml)) {
    const node = document.contents
    if (node === null || !isReadable(document, report)) continue
    const policy = documentOf({ name: '', node, offset: node.range[0] }, file, locate, report)
    if (policy !== undefined) documents.push(policy)
  }
  problems.sort(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  )
  return { documents, problems }
}

/** Whether there is something to read: not only a comment, and no fault that makes the rest of it meaningless. */
function isReadable(document: Document.Parsed, report: Report): boolean {
  const faults = [...document.errors, ...document.warnings]
  const breaking = faults.find(({ code }) => code !== 'DUPLICATE_KEY')
  // What the parser says after the first broken place are consequences of it.
  for (const { pos, message } of breaking === undefined ? faults : [breaking]) report(pos[0], message)
  const isEmpty = isScalar(document.contents) && document.contents.value === null
  return !isEmpty && breaking === undefined
}

const documentFields = ['apiVersion', 'kind', 'metadata', 'namespace', 'inherit', 'rules'] as const

function documentOf(field: Field, file: string, locate: Locate, report: Report): PolicyDocument | undefined {
  const fields = fieldsOf(field, documentFields, report)
  if (fields === undefined) return undefined
  choiceOf(fields.apiVersion, ['catalog-gateway/v1'], report)
  choiceOf(fields.kind, ['AccessPolicy'], report)
  const metadata = fieldsOf(fields.metadata, ['name', 'description'], report)
  const name = metadata && labelOf(metadata.name, report)
  if (metadata) optional(metadata.description, (field) => textOf(field, report))
  const namespace = namespaceOf(fields.namespace, report)
  const inherit = optional(fields.inherit, (field) => choiceOf(field, [true, false], report)) ?? true
  const rules = rulesOf(fields.rules, locate, report)
  if (metadata === undefined || name === undefined) return undefined
  return { name, namespace, inherit, rules, file, ...locate(metadata.name.offset) }
}

function rulesOf(field: Field, locate: Locate, report: Report): readonly PolicyRule[] {
  const lineOf = new Map<string, number>()
  return (itemsOf(field, '[{ id, effect, subjects, operations }]', report) ?? []).flatMap((item) => {
    const rule = ruleOf(item, locate(item.offset).line, report)
    if (rule === undefined) return []
    const before = lineOf.get(rule.id)
    if (before !== undefined)
      report(item.offset, `${item.name}: the rule of line ${before} is "${rule.id}" too`)
    lineOf.set(rule.id, before ?? rule.line)
    return [rule]
  })
}
