import type { Permission } from '../interface/permissions.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import type { PolicyProblem } from './policy-error.ts'
import { requirementOf, requirementsOf } from './commit-fields.ts'
import { decisionTableFields, documentFields, metadataFields } from './language.ts'
import type { DecisionTest } from './decision-test.ts'
import { testsOf } from './test-fields.ts'
import { labelOf, namespaceOf, permissionsOf, ruleOf } from './rule-fields.ts'
import {
  choiceReader,
  Field,
  type Fields,
  fieldsReader,
  itemsOf,
  optional,
  textOf,
  type Report,
} from './yaml-fields.ts'
import type { YamlNode } from './yaml-node.ts'
import { locator, readYaml, type Locate } from './yaml-text.ts'

const noPermissions: ReadonlySet<Permission> = new Set()

const readDocument = fieldsReader(documentFields)
const readDecisionTable = fieldsReader(decisionTableFields)
const readMetadata = fieldsReader(metadataFields)
const readVersion = choiceReader(['catalog-gateway/v1'])
const readKind = choiceReader(['AccessPolicy'])
const readMode = choiceReader(['enforce', 'shadow'])
const readInherit = choiceReader([true, false])
const readOnDeny = choiceReader([403, 404])

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
  const locate = locator(text)
  const problems: PolicyProblem[] = []
  const report: Report = (offset, message) => problems.push({ file, ...locate(offset), message })
  const documents: PolicyDocument[] = []
  const tests: DecisionTest[] = []
  const root = (node: YamlNode): void => {
    const field = Field.ofDocument(node, text)
    if (isDecisionTable(node)) {
      tests.push(...decisionTableOf(field, file, locate, report))
      return
    }
    const policy = documentOf(field, file, locate, report, tests)
    if (policy !== undefined) documents.push(policy)
  }
  readYaml(text, { root, fault: report })
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
  const fields = readDecisionTable(field, report)
  if (fields === undefined) return []
  readVersion(fields.of('apiVersion'), report)
  const metadata = readMetadata(fields.of('metadata'), report)
  const name = metadata && labelOf(metadata.of('name'), report)
  const place = { document: name ?? '', file }
  return testsOf(fields.of('tests'), place, (offset) => locate(offset).line, report)
}

/** The policy of a document; what it expects of the policies is added to the tests. */
function documentOf(
  field: Field,
  file: string,
  locate: Locate,
  report: Report,
  tests: DecisionTest[],
): PolicyDocument | undefined {
  const fields = readDocument(field, report)
  if (fields === undefined) return undefined
  readVersion(fields.of('apiVersion'), report)
  readKind(fields.of('kind'), report)
  const metadata = readMetadata(fields.of('metadata'), report)
  const name = metadata && labelOf(metadata.of('name'), report)
  if (metadata) optional(metadata, 'description', textOf, report)
  const mode = optional(fields, 'mode', readMode, report)
  const isShadow = mode === 'shadow'
  const namespace = namespaceOf(fields.of('namespace'), report)
  const inherit = optional(fields, 'inherit', readInherit, report) ?? true
  const final = optional(fields, 'final', permissionsOf, report) ?? noPermissions
  const onDeny = optional(fields, 'onDeny', readOnDeny, report)
  const rules = rulesOf(fields, locate, report)
  const place = { document: name ?? '', file }
  const expected = optional(
    fields,
    'tests',
    (field) => testsOf(field, place, (offset) => locate(offset).line, report),
    report,
  )
  tests.push(...(expected ?? []))
  if (metadata === undefined || name === undefined) return undefined
  return {
    name,
    isShadow,
    namespace,
    inherit,
    final,
    onDeny,
    rules,
    file,
    ...locate(metadata.of('name').offset),
  }
}

type ReadRule = (item: Field, line: number, report: Report) => PolicyRule | undefined

/** The rules of a document and what it requires of commits, in their order. */
function rulesOf(fields: Fields<'rules' | 'commits'>, locate: Locate, report: Report): readonly PolicyRule[] {
  const rules: PolicyRule[] = []
  // Where the rules stand, by id.
  const lines = new Map<string, number>()
  const readAll = (items: readonly Field[], read: ReadRule): void => {
    for (const item of items) {
      const rule = read(item, locate(item.offset).line, report)
      if (rule === undefined) continue
      const before = lines.get(rule.id)
      if (before === undefined) lines.set(rule.id, rule.line)
      else report(item.offset, `${item.name}: the rule of line ${before} is "${rule.id}" too`)
      rules.push(rule)
    }
  }
  const required = optional(fields, 'commits', requirementsOf, report)
  if (required !== undefined) readAll(required, requirementOf)
  if (required === undefined || fields.has('rules')) {
    readAll(itemsOf(fields.of('rules'), '[{ id, effect, subjects, operations }]', report) ?? [], ruleOf)
  }
  return required === undefined ? rules.slice() : rules.toSorted((one, other) => one.line - other.line)
}
