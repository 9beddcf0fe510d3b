import { isMap, isSeq, type ParsedNode } from 'yaml'
import type { z } from 'zod'
import { getMembers, isObject, type Steps } from '../../lib/index.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import { DocumentReader, type WrittenDocument } from './document-reader.ts'
import {
  formatPlaceholder,
  variableName,
  mergeByPolicy,
  nameDocument,
  type PolicyInstance,
} from './for-each.ts'
import type { PolicyDocument, PolicyProblem, PolicyRule } from './policy-document.ts'
import {
  exampleOf,
  forEachSchema,
  getPolicySchemas,
  policyParts,
  type PolicySchemas,
} from './policy-schema.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { createLocator, readYaml, type ReportProblem } from './read-yaml.ts'
import { readRestriction, readTags } from './restriction-schema.ts'
import { readCommits, readRule } from './rule-schema.ts'
import { label } from './schema-parts.ts'
import { readTest } from './test-schema.ts'

/** Content of one policy file. If there is any problem, the policies must not be used. */
export interface ParsedPolicies {
  readonly documents: readonly PolicyDocument[]
  readonly tests: readonly DecisionTest[]
  readonly problems: readonly PolicyProblem[]
}

/**
 * Parses the AccessPolicy documents of a YAML text (1.2, core schema). Aliases are not followed, so a policy says what its
 * text shows, and a small file cannot expand into a large one.
 */
export function* parsePolicySteps(
  text: string,
  file: string,
  vocabulary: PolicyVocabulary,
): Steps<ParsedPolicies> {
  const problems: Problem[] = []
  const locate = createLocator(text)
  const schemas = getPolicySchemas(vocabulary)
  const parsed: ParsedFile = {
    file,
    locate,
    fields: Object.keys(schemas.policy.shape),
    vocabulary,
    schemas,
    accepted: readAccepted(text),
    documents: [],
    tests: [],
  }
  for (const root of readYaml(text, (offset, message) => problems.push({ offset, message }))) {
    for (const item of listItemsOf(root)) {
      for (const problem of yield* readWhole(parsed, item)) problems.push(problem)
      yield
    }
  }
  const sorted = problems.toSorted((one, other) => one.offset - other.offset)
  const located = sorted.map(({ offset, message }) => ({ file, ...locate(offset), message }))
  return { documents: parsed.documents, tests: parsed.tests, problems: located }
}

/** Returns the document, or the items of a list that `kubectl get` has printed, without their status. */
function listItemsOf(root: ParsedNode): readonly ParsedNode[] {
  const list: unknown = isMap(root) && String(root.get('kind')) === 'List' ? root.get('items') : undefined
  if (!isSeq(list)) return [root]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node that was parsed has only such nodes
  const items = list.items as readonly ParsedNode[]
  for (const item of items) if (isMap(item)) item.delete('status')
  return items
}

interface ParsedFile extends Pick<WrittenDocument, 'locate' | 'fields'> {
  readonly file: string
  readonly vocabulary: PolicyVocabulary
  readonly schemas: PolicySchemas
  readonly accepted: PolicyDocument['accepted']
  readonly documents: PolicyDocument[]
  readonly tests: DecisionTest[]
}

interface Problem {
  readonly offset: number
  readonly message: string
}

/** Reads a document; if it has `forEach`, once for each value. Returns its errors, merged over the values. */
function* readWhole(parsed: ParsedFile, root: ParsedNode): Steps<readonly Problem[]> {
  const problems: (Problem & { readonly policy: string })[] = []
  function open(instance?: PolicyInstance): DocumentReader {
    const policy = nameDocument('', instance)
    const report: ReportProblem = (offset, message) => problems.push({ offset, message, policy })
    return new DocumentReader({ ...parsed, root, instance, report })
  }
  const reader = open()
  const ofTexts = problems.splice(0)
  const instances = readForEach(reader)
  if (instances === undefined) {
    readDocument(parsed, reader, undefined)
    return [...ofTexts, ...problems]
  }
  // The errors of texts are found again, for each value.
  for (const instance of instances) {
    readDocument(parsed, open(instance), instance)
    yield
  }
  const documents = instances.map((instance) => ({ name: nameDocument('', instance), instance }))
  return mergeByPolicy(problems, documents, ({ offset }) => String(offset))
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
  if (!variableName.test(variable) || more.length > 0) return []
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
  if (values.size * count <= maxItems) return [...values].map((value) => ({ variable, value }))
  const found = `${values.size} values for ${count} rules and tests`
  reader.report(path, `.${variable} has ${found}; expected at most ${maxItems} together, in several policies`)
  return []
}

function listItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function readDocument(
  { file, accepted, documents, tests, vocabulary, schemas }: ParsedFile,
  reader: DocumentReader,
  instance: PolicyInstance | undefined,
): void {
  reader.check(schemas.document)
  const strictest = { inherit: false, final: ['all'] }
  const { value: policy } = reader.read<z.output<PolicySchemas['document']>>([], strictest)
  if (!isObject(reader.value)) return
  if (!policyParts.some((name) => name in policy))
    reader.report(['rules'], ` is missing; expected a list, such as ${exampleOf.rules}`)
  const rules = readRules(reader, vocabulary)
  const { metadata, mode, namespace, inherit = true, final = [], onDeny, contact } = policy
  const scope = metadata?.namespace === undefined ? '' : `${metadata.namespace}/`
  const name = nameDocument(scope + (metadata?.name ?? ''), instance)
  for (const index of policy.tests?.keys() ?? []) {
    const test = readTest(reader, ['tests', index], vocabulary)
    if (test !== undefined) tests.push({ document: name, file, ...test })
  }
  // A mistaken namespace is none: in another one, its denies would apply to others.
  if (metadata === undefined || !Array.isArray(namespace)) return
  documents.push({
    name,
    instance,
    isShadow: mode === 'shadow',
    namespace,
    inherit,
    // Operations that policies beneath cannot allow are denied to them, so they are completed as those of a deny.
    final: vocabulary.cover(final, 'deny').permissions,
    onDeny,
    contact,
    tags: 'tags' in policy ? readTags(reader) : undefined,
    accepted,
    rules,
    file,
    ...reader.position(['metadata', 'name']),
  })
}

/** Reads rules, restrictions and commit requirements, in the order of their lines. */
function readRules(reader: DocumentReader, vocabulary: PolicyVocabulary): readonly PolicyRule[] {
  const document = getMembers(reader.value)
  const rules = 'commits' in document ? [...readCommits(reader, vocabulary)] : []
  const lines = new Map<unknown, number>(rules.map(({ id, line }) => [id, line]))
  for (const [name, read] of [
    ['restrict', readRestriction],
    ['rules', readRule],
  ] as const) {
    for (const [index, item] of listItems(document[name]).entries()) {
      const rule = read(reader, [name, index], vocabulary)
      const { id } = getMembers(item)
      const before = lines.get(id)
      if (before === undefined) lines.set(id, reader.position([name, index]).line)
      else reader.report([name, index], `: duplicate rule id "${String(id)}", also in line ${before}`)
      if (rule !== undefined && before === undefined) rules.push(rule)
    }
  }
  return rules.toSorted((one, other) => one.line - other.line)
}

const accepting = /^(?<before>.*?)#\s*lint: ok\s+(?<check>[\w-]+)\s+(?<reason>\S.*?)\s*$/

/**
 * Reads the comments `# lint: ok CHECK reason` of a file. Each accepts findings about the line that it ends or, if it has a
 * line of its own, about the next line that is no comment.
 */
function readAccepted(text: string): PolicyDocument['accepted'] {
  const lines = text.includes('lint: ok') ? text.split('\n') : []
  const accepted = lines.flatMap((line, index) => {
    const { before, check, reason } = accepting.exec(line)?.groups ?? {}
    if (before === undefined || reason === undefined) return []
    const below = lines.slice(index + 1).findIndex((other) => !/^\s*(?:#|$)/.test(other))
    const target = before.trim() === '' ? index + 1 + below : index
    return [[`${target + 1} ${check}`, reason] as const]
  })
  return new Map(accepted)
}
