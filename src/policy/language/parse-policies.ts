import type { z } from 'zod'
import type { ParsedNode } from 'yaml'
import { runAtOnce, type Steps } from '../../lib/async/run-in-slices.ts'
import { getMembers, isObject } from '../../lib/json/json-values.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import { fileApiVersion, resourceApiVersion } from './api-version.ts'
import { createCommitRules, createRestriction, createRule, createTags } from './build-rule.ts'
import { DocumentReader, repair, type Checked } from './document-reader.ts'
import {
  formatPlaceholder,
  isVariableName,
  mergeByPolicy,
  nameDocument,
  type PolicyInstance,
} from './for-each.ts'
import type { AcceptedFinding, PolicyDocument, PolicyRule } from './policy-document.ts'
import type { PolicyProblem } from './policy-error.ts'
import { exampleOf, forEachSchema, getPolicySchemas, metadataSchemas, policyParts } from './policy-schema.ts'
import { builtInVocabulary, type PolicyVocabulary } from './policy-vocabulary.ts'
import {
  createLocator,
  LocatedYaml,
  readYaml,
  type Locate,
  type Position,
  type ReportProblem,
} from './read-yaml.ts'
import { label } from './schema-parts.ts'
import { createTest } from './test-schema.ts'

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
  const parsed: ParsedFile = {
    file,
    text,
    locate,
    vocabulary,
    accepted: readAccepted(text),
    documents: [],
    tests: [],
  }
  for (const root of readYaml(text, report)) {
    yield* readWhole(parsed, root, report)
    yield
  }
  problems.sort(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  )
  return { documents: parsed.documents, tests: parsed.tests, problems }
}

/** A file that is parsed, with what was found in it. */
interface ParsedFile {
  readonly file: string
  readonly text: string
  readonly locate: Locate
  readonly vocabulary: PolicyVocabulary
  readonly accepted: readonly AcceptedFinding[]
  readonly documents: PolicyDocument[]
  readonly tests: DecisionTest[]
}

interface Problem {
  readonly offset: number
  readonly message: string
}

/**
 * Reads a document; if it has `forEach`, once for each value. An error that all values have is reported once, any other with
 * the values that have it.
 */
function* readWhole(parsed: ParsedFile, root: ParsedNode, report: ReportProblem): Steps<void> {
  const { text, locate } = parsed
  const found: Problem[] = []
  const yaml = new LocatedYaml(root, text, undefined, (offset, message) => found.push({ offset, message }))
  const reader = new DocumentReader(yaml, locate, report)
  const isTable = getMembers(yaml.value)['kind'] === 'DecisionTable'
  const instances = isTable ? undefined : readForEach(reader)
  if (instances === undefined) {
    for (const { offset, message } of found) report(offset, message)
    if (isTable) yield* readDecisionTable(parsed, reader)
    else yield* readDocument(parsed, reader, undefined)
    return
  }
  const documents = instances.map((instance) => ({ name: nameDocument('', instance), instance }))
  const problems: (Problem & { readonly policy: string })[] = []
  for (const { name, instance } of documents) {
    const reportOwn: ReportProblem = (offset, message) => problems.push({ offset, message, policy: name })
    const filled = new LocatedYaml(root, text, instance, reportOwn)
    yield* readDocument(parsed, new DocumentReader(filled, locate, reportOwn), instance)
  }
  const merged = mergeByPolicy(problems, documents, ({ offset }) => String(offset))
  for (const { offset, message } of merged) report(offset, message)
}

/** The product of values and rules bounds the time and memory that one file takes. */
const maxItems = 100_000

/** Returns the valid values of `forEach` in a document as written; undefined if it has none. */
function readForEach(reader: DocumentReader): readonly PolicyInstance[] | undefined {
  const document = getMembers(reader.value)
  if (!Object.hasOwn(document, 'forEach')) return undefined
  const path = ['forEach'] as const
  reader.check(forEachSchema, path)
  const [[variable, written] = ['', undefined], ...more] = Object.entries(getMembers(document['forEach']))
  if (!isVariableName(variable) || more.length > 0) return []
  const placeholder = formatPlaceholder(variable)
  const { namespace } = document
  // An error in another name is reported elsewhere.
  if (
    Array.isArray(namespace) &&
    namespace.every((name) => typeof name === 'string' && !name.includes(placeholder))
  )
    reader.report(
      path,
      `.${variable}: "${placeholder}" is not in "namespace", so all values would have the same one; ` +
        `expected it there, such as namespace: ['${placeholder}']`,
    )
  const values = new Set(listItems(written).flatMap((value) => label.safeParse(value).data ?? []))
  const count = ['rules', 'restrict', 'tests'].flatMap((name) => listItems(document[name])).length
  if (values.size * count > maxItems) {
    const found = `${values.size} values for ${count} rules and tests`
    reader.report(
      path,
      `.${variable} has ${found}; expected at most ${maxItems} together, in several policies`,
    )
    return []
  }
  return [...values].map((value) => ({ variable, value }))
}

function listItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function* readDecisionTable(parsed: ParsedFile, reader: DocumentReader): Steps<void> {
  const { table } = getPolicySchemas(parsed.vocabulary)
  reader.check(table, [])
  yield* readTests(parsed, reader, readName(reader) ?? '')
}

/** Fields of a document that are mistaken, and may be missing. */
const strictest = { inherit: false, final: ['all'] }

function* readDocument(
  parsed: ParsedFile,
  reader: DocumentReader,
  instance: PolicyInstance | undefined,
): Steps<void> {
  const { file, accepted, documents, vocabulary } = parsed
  const schemas = getPolicySchemas(vocabulary)
  const read = reader.check(schemas.document, [])
  const { value } = reader
  if (!isObject(value)) return
  if (!policyParts.some((name) => name in value))
    reader.report(['rules'], ` is missing; expected a list, such as ${exampleOf.rules}`)
  const policy = repair(read, strictest)
  const policyName = readName(reader)
  const tags = 'tags' in policy ? createTags(reader.check(schemas.tags, ['tags']), reader) : undefined
  const rules = yield* readRules(reader, policy, vocabulary)
  const name = nameDocument(policyName ?? '', instance)
  yield* readTests(parsed, reader, name)
  const { mode, namespace, inherit = true, final = [], onDeny, contact } = policy
  // In another namespace, its denies would apply to others.
  if (policyName === undefined || (!read.isValid && read.mistaken.has('namespace'))) return
  documents.push({
    name,
    instance,
    isShadow: mode === 'shadow',
    namespace,
    inherit,
    // Operations that policies beneath cannot allow are denied to them, so they are completed as those of a deny.
    final: vocabulary.coverDeny(final, { includesMoves: false }).permissions,
    onDeny,
    contact,
    tags,
    accepted,
    rules,
    file,
    ...reader.position(['metadata', 'name']),
  })
}

/** Reads the name in the metadata that the version allows. */
function readName(reader: DocumentReader): string | undefined {
  const isResource = getMembers(reader.value)['apiVersion'] === resourceApiVersion
  const metadata = reader.check(metadataSchemas[isResource ? resourceApiVersion : fileApiVersion], [
    'metadata',
  ])
  return metadata.isValid || !metadata.mistaken.has('name') ? repair(metadata, {}).name : undefined
}

function* readTests(
  { file, tests, vocabulary }: ParsedFile,
  reader: DocumentReader,
  document: string,
): Steps<void> {
  const { test } = getPolicySchemas(vocabulary)
  for (const index of listItems(getMembers(reader.value)['tests']).keys()) {
    yield
    const path = ['tests', index]
    const read = reader.check(test, path)
    if (!read.isValid) continue
    const { line } = reader.position(path)
    tests.push(createTest(read.value, { document, file, line }, vocabulary))
  }
}

/** Reads rules, restrictions and commit requirements, in the order of their lines. */
function* readRules(
  reader: DocumentReader,
  policy: object,
  vocabulary: PolicyVocabulary,
): Steps<readonly PolicyRule[]> {
  const { rule, restriction, commits } = getPolicySchemas(vocabulary)
  const rules =
    'commits' in policy ? [...createCommitRules(reader.check(commits, ['commits']), reader, vocabulary)] : []
  // Line of each rule, by id.
  const lines = new Map<unknown, number>(rules.map(({ id, line }) => [id, line]))
  function* readAll<Schema extends z.ZodType>(
    name: 'restrict' | 'rules',
    schema: Schema,
    create: (
      read: Checked<z.output<Schema>>,
      position: Position,
      vocabulary: PolicyVocabulary,
    ) => PolicyRule | undefined,
  ): Steps<void> {
    for (const index of listItems(getMembers(policy)[name]).keys()) {
      yield
      const path = [name, index]
      const read = reader.check(schema, path)
      const position = reader.position(path)
      const { id } = getMembers(read.value)
      const before = lines.get(id)
      if (before === undefined) lines.set(id, position.line)
      else reader.report(path, `: duplicate rule id "${String(id)}", also in line ${before}`)
      const created = create(read, position, vocabulary)
      if (created === undefined || before !== undefined) continue
      rules.push(created)
    }
  }
  yield* readAll('restrict', restriction, createRestriction)
  yield* readAll('rules', rule, createRule)
  return rules.toSorted((one, other) => one.line - other.line)
}

const accepting = /^(?<before>.*?)#\s*lint: ok\s+(?<check>[\w-]+)\s+(?<reason>\S.*?)\s*$/

/**
 * Reads the comments `# lint: ok CHECK reason` of a file. Each accepts findings about the line that it ends or, if it has a
 * line of its own, about the next line that is no comment.
 */
function readAccepted(text: string): readonly AcceptedFinding[] {
  if (!text.includes('lint: ok')) return []
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const { before, check, reason } = accepting.exec(line)?.groups ?? {}
    if (before === undefined || check === undefined || reason === undefined) return []
    const below = lines.slice(index + 1).findIndex((other) => !/^\s*(?:#|$)/.test(other))
    const target = before.trim() === '' ? index + 1 + below : index
    return [{ check, reason, about: target + 1, line: index + 1, column: before.length + 1 }]
  })
}
