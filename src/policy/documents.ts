import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import type { PolicyProblem } from './policy-error.ts'
import { requirementOf, requirementsOf } from './commit-fields.ts'
import { decisionTableFields, documentFields, metadataFields } from './language.ts'
import type { DecisionTest } from './decision-test.ts'
import { testsOf } from './test-fields.ts'
import { labelOf, namespaceOf, permissionsOf, ruleOf } from './rule-fields.ts'
import { choiceOf, fieldsOf, itemsOf, optional, textOf, type Field, type Report } from './yaml-fields.ts'
import type { YamlNode } from './yaml-node.ts'
import { locator, readYaml, readYamlByLibrary, type Locate, type ReadYaml } from './yaml-text.ts'

/** The policies of one file, and every fault in it; where there is a fault, the policies must not be used. */
export interface ParsedPolicies {
  readonly documents: readonly PolicyDocument[]
  /** What the documents, and decision tables among them, expect of the policies of the folder. */
  readonly tests: readonly DecisionTest[]
  readonly problems: readonly PolicyProblem[]
}

/**
 * Reads the AccessPolicy documents of one YAML text (1.2, core schema). Aliases are not followed: who reads a
 * policy sees all of what it says, and a small file cannot become a large one.
 */
export function parsePolicies(text: string, file: string): ParsedPolicies {
  const parsed = parseWith(readYaml, text, file)
  return parsed.problems.length === 0 ? parsed : parseWith(readYamlByLibrary, text, file)
}

function parseWith(read: ReadYaml, text: string, file: string): ParsedPolicies {
  const locate = locator(text)
  const problems: PolicyProblem[] = []
  const report: Report = (offset, message) => problems.push({ file, ...locate(offset), message })
  const documents: PolicyDocument[] = []
  const tests: DecisionTest[] = []
  const root = (node: YamlNode): void => {
    const field: Field = { name: '', node, offset: node.start, file: text }
    if (isDecisionTable(node)) {
      tests.push(...decisionTableOf(field, file, locate, report))
      return
    }
    const policy = documentOf(field, file, locate, report, tests)
    if (policy !== undefined) documents.push(policy)
  }
  read(text, { root, fault: report })
  problems.sort(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  )
  return { documents, tests, problems }
}

function isDecisionTable(node: YamlNode): boolean {
  const kind = node.kind === 'map' ? node.entries.find(({ key }) => key === 'kind')?.value : undefined
  return kind?.kind === 'scalar' && kind.value === 'DecisionTable'
}

/** The tests of a document that holds nothing else. */
function decisionTableOf(
  field: Field,
  file: string,
  locate: Locate,
  report: Report,
): readonly DecisionTest[] {
  const fields = fieldsOf(field, decisionTableFields, report)
  if (fields === undefined) return []
  choiceOf(fields.apiVersion, ['catalog-gateway/v1'], report)
  const metadata = fieldsOf(fields.metadata, metadataFields, report)
  const name = metadata && labelOf(metadata.name, report)
  const place = { document: name ?? '', file }
  return testsOf(fields.tests, place, (offset) => locate(offset).line, report)
}

/** The policy of a document; what it expects of the policies is added to the tests. */
function documentOf(
  field: Field,
  file: string,
  locate: Locate,
  report: Report,
  tests: DecisionTest[],
): PolicyDocument | undefined {
  const fields = fieldsOf(field, documentFields, report)
  if (fields === undefined) return undefined
  choiceOf(fields.apiVersion, ['catalog-gateway/v1'], report)
  choiceOf(fields.kind, ['AccessPolicy'], report)
  const metadata = fieldsOf(fields.metadata, metadataFields, report)
  const name = metadata && labelOf(metadata.name, report)
  if (metadata) optional(metadata.description, (field) => textOf(field, report))
  const mode = optional(fields.mode, (field) => choiceOf(field, ['enforce', 'shadow'] as const, report))
  const isShadow = mode === 'shadow'
  const namespace = namespaceOf(fields.namespace, report)
  const inherit = optional(fields.inherit, (field) => choiceOf(field, [true, false], report)) ?? true
  const final = optional(fields.final, (field) => permissionsOf(field, report)) ?? new Set()
  const onDeny = optional(fields.onDeny, (field) => choiceOf(field, [403, 404] as const, report))
  const lines = new Map<string, number>()
  const readAll = (items: readonly Field[], read: ReadRule): readonly PolicyRule[] =>
    items.flatMap((item) => uniqueRule(item, read(item, locate(item.offset).line, report), lines, report))
  const required = optional(fields.commits, (field) => requirementsOf(field, report))
  const written =
    required !== undefined && fields.rules.node === undefined
      ? []
      : (itemsOf(fields.rules, '[{ id, effect, subjects, operations }]', report) ?? [])
  const rules = [...readAll(required ?? [], requirementOf), ...readAll(written, ruleOf)].toSorted(
    (one, other) => one.line - other.line,
  )
  const place = { document: name ?? '', file }
  const expected = optional(fields.tests, (field) =>
    testsOf(field, place, (offset) => locate(offset).line, report),
  )
  tests.push(...(expected ?? []))
  if (metadata === undefined || name === undefined) return undefined
  return { name, isShadow, namespace, inherit, final, onDeny, rules, file, ...locate(metadata.name.offset) }
}

type ReadRule = (item: Field, line: number, report: Report) => PolicyRule | undefined

/** The rule, in a list; `lines` holds where the rules before it stand, by id. */
function uniqueRule(
  item: Field,
  rule: PolicyRule | undefined,
  lines: Map<string, number>,
  report: Report,
): readonly PolicyRule[] {
  if (rule === undefined) return []
  const before = lines.get(rule.id)
  if (before !== undefined) {
    report(item.offset, `${item.name}: the rule of line ${before} is "${rule.id}" too`)
  }
  lines.set(rule.id, before ?? rule.line)
  return [rule]
}
