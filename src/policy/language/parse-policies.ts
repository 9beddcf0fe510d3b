import { z } from 'zod'
import type { ParsedNode } from 'yaml'
import { runAtOnce, type Steps } from '../../lib/async/run-in-slices.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { acceptanceHint } from '../../config/index.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import { fileApiVersion } from './api-version.ts'
import { readForEach } from './for-each.ts'
import { LocatedYaml, type ReportProblem } from './located-yaml.ts'
import { Place, type Lenient } from './place.ts'
import type { AcceptedFinding, PolicyDocument, PolicyInstance, PolicyRule } from './policy-document.ts'
import type { PolicyProblem } from './policy-error.ts'
import { mergeInstances, nameDocument } from './policy-instance.ts'
import { decisionTableSchema, metadataSchemas, policySchema } from './policy-schema.ts'
import { builtInVocabulary, type PolicyVocabulary } from './policy-vocabulary.ts'
import { readNamespace, readPermissions } from './read-names.ts'
import { readRestriction, readTags } from './read-restriction.ts'
import { readCommits, readRule } from './read-rule.ts'
import { readTest } from './read-tests.ts'
import { createLocator, readYaml, type Locate } from './read-yaml.ts'

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
  const place = Place.ofDocument(yaml, locate, report)
  const isTable = isObject(yaml.value) && yaml.value['kind'] === 'DecisionTable'
  const instances = isTable ? undefined : readForEach(place, yaml.value)
  if (instances === undefined) {
    for (const { offset, message } of found) report(offset, message)
    if (isTable) readDecisionTable(parsed, place)
    else yield* readDocument(parsed, place, undefined)
    return
  }
  const problems: { readonly item: Problem; readonly instance: PolicyInstance }[] = []
  for (const instance of instances) {
    const reportOwn: ReportProblem = (offset, message) =>
      problems.push({ item: { offset, message }, instance })
    const filled = new LocatedYaml(root, text, instance, reportOwn)
    yield* readDocument(parsed, Place.ofDocument(filled, locate, reportOwn), instance)
  }
  const merged = mergeInstances(problems, instances.length, ({ offset }) => String(offset))
  for (const { offset, message } of merged) report(offset, message)
}

function readDecisionTable({ file, tests, vocabulary }: ParsedFile, place: Place): void {
  const table = place.check(tableSchema)
  const document = readName(place, table?.apiVersion) ?? ''
  tests.push(...readTests(place, table?.tests, { document, file }, vocabulary))
}

/** The other fields are read for themselves. */
const filledSchema = policySchema.extend({
  forEach: z.unknown().optional(),
  metadata: z.unknown().optional(),
})
const tableSchema = decisionTableSchema.extend({ metadata: z.unknown().optional() })

function* readDocument(
  { file, accepted, documents, tests, vocabulary }: ParsedFile,
  place: Place,
  instance: PolicyInstance | undefined,
): Steps<void> {
  const policy = place.check(filledSchema)
  if (policy === undefined) return
  const policyName = readName(place, policy.apiVersion)
  const { mode, tags, inherit = true, onDeny, contact } = policy
  if (mode === 'development' && !vocabulary.options.acceptsDevelopment) {
    place
      .at('mode')
      .report(
        ' is development: the policy is for `catalog-gateway dev` alone; expected another folder, ' +
          `${acceptanceHint('development-policies')} in the settings`,
      )
  }
  const namespace = readNamespace(place.at('namespace'), policy.namespace, vocabulary)
  // Operations that policies beneath cannot allow are denied to them, so they are completed as those of a deny.
  const reserved = readPermissions(place.at('final'), policy.final, vocabulary, 'deny')
  const declared = 'tags' in policy ? readTags(place.at('tags'), tags, vocabulary) : undefined
  const rules = yield* readRules(place, policy, vocabulary)
  const name = nameDocument(policyName ?? '', instance)
  tests.push(...readTests(place, policy.tests, { document: name, file }, vocabulary))
  if (policyName === undefined) return
  documents.push({
    name,
    instance,
    isShadow: mode === 'shadow',
    namespace,
    inherit,
    final: vocabulary.coverDeny(reserved, { includesMoves: false }).permissions,
    onDeny,
    contact,
    tags: declared,
    accepted,
    rules,
    file,
    ...place.at('metadata', 'name').position,
  })
}

/** Reads the name in the metadata that the version allows. */
function readName(
  place: Place,
  apiVersion: keyof typeof metadataSchemas = fileApiVersion,
): string | undefined {
  return place.at('metadata').check(metadataSchemas[apiVersion])?.name
}

function readTests(
  place: Place,
  tests: Lenient<z.output<typeof policySchema>>['tests'] = [],
  location: Pick<DecisionTest, 'document' | 'file'>,
  vocabulary: PolicyVocabulary,
): readonly DecisionTest[] {
  return tests.flatMap((test, index) =>
    test === undefined ? [] : (readTest(place.at('tests', index), test, location, vocabulary) ?? []),
  )
}

/** Reads rules, restrictions and commit requirements, in the order of their lines. */
function* readRules(
  place: Place,
  policy: Lenient<z.output<typeof filledSchema>>,
  vocabulary: PolicyVocabulary,
): Steps<readonly PolicyRule[]> {
  // Line of each rule, by id.
  const lines = new Map<string, number>()
  const rules = 'commits' in policy ? [...readCommits(place.at('commits'), policy.commits, vocabulary)] : []
  for (const rule of rules) lines.set(rule.id, rule.line)
  function* readAll<Written>(
    name: 'restrict' | 'rules',
    items: readonly (Written | undefined)[] = [],
    read: (place: Place, written: Written, vocabulary: PolicyVocabulary) => PolicyRule | undefined,
  ): Steps<void> {
    for (const [index, item] of items.entries()) {
      yield
      const at = place.at(name, index)
      const rule = item && read(at, item, vocabulary)
      if (rule === undefined) continue
      const before = lines.get(rule.id)
      if (before === undefined) lines.set(rule.id, rule.line)
      else at.report(`: duplicate rule id "${rule.id}", also in line ${before}`)
      rules.push(rule)
    }
  }
  yield* readAll('restrict', policy.restrict, readRestriction)
  yield* readAll('rules', policy.rules, readRule)
  if (!['rules', 'commits', 'restrict', 'tags'].some((name) => name in policy))
    place.at('rules').report(' is missing; expected a list, such as [{ id, effect, subjects, operations }]')
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
