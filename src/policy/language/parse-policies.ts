import { runAtOnce, type Steps } from '../../lib/async/run-in-slices.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { acceptanceHint } from '../../config/unsafe-settings.ts'
import type { AcceptedFinding, PolicyDocument, PolicyInstance, PolicyRule } from './policy-document.ts'
import type { PolicyProblem } from './policy-error.ts'
import { readCommits } from './read-commits.ts'
import { readInstances } from './for-each.ts'
import { nameDocument } from './policy-instance.ts'
import { readRestriction } from './read-restrictions.ts'
import { readTags } from './read-tags.ts'
import { fileApiVersion, policyKind, resourceApiVersion } from './api-version.ts'
import {
  decisionTableFields,
  documentFields,
  metadataFields,
  policyModes,
  resourceMetadataFields,
} from './policy-fields.ts'
import { readAccepted } from './read-accepted.ts'
import { readTextMap } from './read-values.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import { builtInVocabulary, type PolicyVocabulary } from './policy-vocabulary.ts'
import { readTests } from './read-tests.ts'
import { readLabel, readNamespace, readPermissions, readRule } from './read-rule.ts'
import {
  createChoiceReader,
  Field,
  type Fields,
  createFieldsReader,
  readItems,
  readOptional,
  readLine,
  readText,
  type ReportProblem,
} from './field.ts'
import { reportRepeatedKeys, type YamlNode } from './yaml/yaml-node.ts'
import { createLocator, readYaml, type Locate, type Position } from './yaml/read-yaml.ts'

const noPermissions: ReadonlySet<Permission> = new Set()

const readDocumentFields = createFieldsReader(documentFields)
const readDecisionTableFields = createFieldsReader(decisionTableFields)
const readMetadataFields = createFieldsReader(metadataFields)
const readResourceMetadataFields = createFieldsReader(resourceMetadataFields)
const readVersion = createChoiceReader([fileApiVersion, resourceApiVersion])
const readKind = createChoiceReader([policyKind])
const readModeName = createChoiceReader(policyModes)
const readInherit = createChoiceReader([true, false])
const readOnDeny = createChoiceReader([403, 404])

/** Content of one policy file. If there is any problem, the policies must not be used. */
export interface ParsedPolicies {
  readonly documents: readonly PolicyDocument[]
  /** Tests of policy documents and of decision tables. */
  readonly tests: readonly DecisionTest[]
  readonly problems: readonly PolicyProblem[]
}

/**
 * Parses the AccessPolicy and DecisionTable documents of a YAML text (1.2, core schema). Aliases are not followed, so a
 * policy says what its text shows, and a small file cannot expand into a large one.
 */
export function parsePolicies(
  text: string,
  file: string,
  vocabulary: PolicyVocabulary = builtInVocabulary,
): ParsedPolicies {
  return runAtOnce(parsePolicySteps(text, file, vocabulary))
}

/** `parsePolicies`, with a pause before each rule and after each document. */
export function* parsePolicySteps(
  text: string,
  file: string,
  vocabulary: PolicyVocabulary,
): Steps<ParsedPolicies> {
  const locate = createLocator(text)
  const problems: PolicyProblem[] = []
  const report: ReportProblem = (offset, message) => problems.push({ file, ...locate(offset), message })
  const documents: PolicyDocument[] = []
  const accepted = readAccepted(text)
  const tests: DecisionTest[] = []
  for (const node of readYaml(text, report)) {
    const field = Field.forDocument(node, text)
    if (isDecisionTable(node)) tests.push(...readDecisionTable(field, file, locate, report, vocabulary))
    else
      yield* readInstances(field, report, function* (field, report, instance) {
        const policy = yield* readDocument(field, instance, accepted, file, locate, report, tests, vocabulary)
        if (policy !== undefined) documents.push(policy)
      })
    yield
  }
  problems.sort(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  )
  return { documents, tests, problems }
}

function isDecisionTable(node: YamlNode): boolean {
  const kind = node.kind === 'map' ? node.entries.find(({ key }) => key === 'kind')?.value : undefined
  return kind?.kind === 'scalar' && kind.value === 'DecisionTable'
}

function readDecisionTable(
  field: Field,
  file: string,
  locate: Locate,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): readonly DecisionTest[] {
  reportRepeatedKeys(field.node, report)
  const fields = readDecisionTableFields(field, report)
  if (fields === undefined) return []
  const name = readName(fields, report)?.name
  const location = { document: name ?? '', file }
  return readTests(fields.get('tests'), location, (offset) => locate(offset).line, report, vocabulary)
}

/** Reads a policy document and adds its tests to `tests`. */
function* readDocument(
  field: Field,
  instance: PolicyInstance | undefined,
  accepted: readonly AcceptedFinding[],
  file: string,
  locate: Locate,
  report: ReportProblem,
  tests: DecisionTest[],
  vocabulary: PolicyVocabulary,
): Steps<PolicyDocument | undefined> {
  reportRepeatedKeys(field.node, report)
  const fields = readDocumentFields(field, report)
  if (fields === undefined) return undefined
  const named = readName(fields, report)
  readKind(fields.get('kind'), report)
  const isShadow =
    readOptional(fields, 'mode', (field) => readMode(field, report, vocabulary), report) === 'shadow'
  const namespace = readNamespace(fields.get('namespace'), report, vocabulary)
  const inherit = readOptional(fields, 'inherit', readInherit, report) ?? true
  const final =
    readOptional(fields, 'final', (field) => readReserved(field, report, vocabulary), report) ?? noPermissions
  const onDeny = readOptional(fields, 'onDeny', readOnDeny, report)
  const contact = readOptional(fields, 'contact', readLine, report)
  const tags = readOptional(fields, 'tags', (field) => readTags(field, locate, report, vocabulary), report)
  const rules = yield* readRules(fields, locate, report, vocabulary)
  const name = nameDocument(named?.name ?? '', instance)
  const expected = readOptional(
    fields,
    'tests',
    (field) =>
      readTests(field, { document: name, file }, (offset) => locate(offset).line, report, vocabulary),
    report,
  )
  tests.push(...(expected ?? []))
  if (named === undefined) return undefined
  return {
    name,
    instance,
    isShadow,
    namespace,
    inherit,
    final,
    onDeny,
    contact,
    tags,
    accepted,
    rules,
    file,
    ...locate(named.offset),
  }
}

function readMode(
  field: Field,
  report: ReportProblem,
  { options }: PolicyVocabulary,
): (typeof policyModes)[number] | undefined {
  const mode = readModeName(field, report)
  if (mode === 'development' && !options.acceptsDevelopment) {
    report(
      field.offset,
      `${field.name} is development: the policy is for \`catalog-gateway dev\` alone; expected another folder, ` +
        `${acceptanceHint('development-policies')} in the settings`,
    )
  }
  return mode
}

interface Name {
  readonly name: string
  readonly offset: number
}

/** Reads `apiVersion` and the metadata that it allows. */
function readName(fields: Fields<'apiVersion' | 'metadata'>, report: ReportProblem): Name | undefined {
  const isResource = readVersion(fields.get('apiVersion'), report) === resourceApiVersion
  const field = fields.get('metadata')
  const nameField = isResource ? readResourceMetadata(field, report) : readFileMetadata(field, report)
  const name = nameField && readLabel(nameField, report)
  return nameField && name !== undefined ? { name, offset: nameField.offset } : undefined
}

function readFileMetadata(field: Field, report: ReportProblem): Field | undefined {
  const metadata = readMetadataFields(field, report)
  if (metadata) readOptional(metadata, 'description', readText, report)
  return metadata?.get('name')
}

function readResourceMetadata(field: Field, report: ReportProblem): Field | undefined {
  const metadata = readResourceMetadataFields(field, report)
  if (metadata) {
    readOptional(metadata, 'namespace', readText, report)
    readOptional(metadata, 'labels', readTextMap, report)
    readOptional(metadata, 'annotations', readTextMap, report)
  }
  return metadata?.get('name')
}

type ReadRule = (
  item: Field,
  position: Position,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
) => PolicyRule | undefined

/** Operations that policies beneath cannot allow are denied to them, so they are completed as those of a deny. */
function readReserved(
  field: Field,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): ReadonlySet<Permission> {
  const named = readPermissions(field, report, vocabulary, 'deny')
  return vocabulary.coverDeny(named, { includesMoves: false }).permissions
}

/** Reads rules, restrictions and commit requirements, in the order of their lines. */
function* readRules(
  fields: Fields<'rules' | 'commits' | 'restrict' | 'tags'>,
  locate: Locate,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): Steps<readonly PolicyRule[]> {
  const rules: PolicyRule[] = []
  // Line of each rule, by id.
  const lines = new Map<string, number>()
  function* readAll(items: readonly Field[], read: ReadRule): Steps<void> {
    for (const item of items) {
      yield
      const rule = read(item, locate(item.offset), report, vocabulary)
      if (rule === undefined) continue
      const before = lines.get(rule.id)
      if (before === undefined) lines.set(rule.id, rule.line)
      else report(item.offset, `${item.name}: duplicate rule id "${rule.id}", also in line ${before}`)
      rules.push(rule)
    }
  }
  const required = readOptional(
    fields,
    'commits',
    (field) => readCommits(field, locate, report, vocabulary),
    report,
  )
  for (const rule of required ?? []) {
    lines.set(rule.id, rule.line)
    rules.push(rule)
  }
  const restrictions = readOptional(
    fields,
    'restrict',
    (field) => readItems(field, '[{ id, subjects, tables, columns }]', report) ?? [],
    report,
  )
  if (restrictions !== undefined) yield* readAll(restrictions, readRestriction)
  const hasOthers = required !== undefined || restrictions !== undefined || fields.has('tags')
  if (!hasOthers || fields.has('rules')) {
    yield* readAll(
      readItems(fields.get('rules'), '[{ id, effect, subjects, operations }]', report) ?? [],
      readRule,
    )
  }
  return hasOthers ? rules.toSorted((one, other) => one.line - other.line) : rules.slice()
}
