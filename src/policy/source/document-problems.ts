import type { Steps } from '../../lib/async/run-in-slices.ts'
import { groupBy } from '../../lib/group-by.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { matchesAny } from '../conditions/name-pattern.ts'
import { tagDocuments, type TagFinder } from '../engine/policy-node.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import { formatProblem, PolicyError, type PolicyProblem } from '../language/policy-error.ts'
import { getPolicyName } from '../language/for-each.ts'
import type { Position } from '../language/read-yaml.ts'
import { FilterError, parseFilter } from '../restrictions/parse-filter.ts'
import type { WrittenRestriction } from '../restrictions/restriction.ts'
import { resolveRestriction, type ObjectTags } from '../tags/object-tags.ts'
import { isEnforced } from './compile-documents.ts'

/** Throws PolicyError if `count` is 0: a wrong path is more likely than the intent to deny everything. */
export function assertAnyPolicy(location: string, count: number): void {
  if (count > 0) return
  const message = 'contains no policy in .yaml or .yml files; to deny everything, keep a policy without rules'
  throw new PolicyError([{ file: location, message }])
}

/** Returns the documents of files. Throws PolicyError with every error in them and every repeated name. */
export function collectDocuments(files: readonly ParsedPolicies[]): readonly PolicyDocument[] {
  const documents = files.flatMap((file) => file.documents)
  assertNone([...files.flatMap(({ problems }) => problems), ...findRepeatedNames(documents)])
  return documents
}

/** Throws PolicyError if documents that come into force together repeat a name, or have problems with tags. */
export function* assertDocuments(documents: readonly PolicyDocument[]): Steps<void> {
  assertNone([...findRepeatedNames(documents), ...(yield* findTagProblems(documents))])
}

function assertNone(problems: readonly PolicyProblem[]): void {
  if (problems.length > 0) throw new PolicyError(problems)
}

/**
 * Decisions refer to a policy by name only, so names must be unique. The documents of a policy with `forEach` have its
 * position.
 */
function findRepeatedNames(documents: readonly PolicyDocument[]): readonly PolicyProblem[] {
  const policies = groupBy(documents, ({ file, line, column }) => `${file}:${line}:${column}`)
  const seen = new Map<string, PolicyDocument>()
  return [...policies.values()].flatMap(([document]) => {
    if (document === undefined) return []
    const { file, line, column } = document
    const name = getPolicyName(document)
    const before = seen.get(name)
    if (before === undefined) seen.set(name, document)
    const message = `metadata.name: duplicate policy name "${name}", also in ${before?.file}:${before?.line}`
    return before === undefined ? [] : [{ file, line, column, message }]
  })
}

/**
 * Finds everything that is declared twice, every tag that a rule names and none of the documents declares, and every
 * restriction by tags that declared columns contradict.
 */
export function* findTagProblems(documents: readonly PolicyDocument[]): Steps<readonly PolicyProblem[]> {
  const enforced = documents.filter(isEnforced)
  const shadows = documents.filter((document) => !isEnforced(document))
  const problems = [
    ...findRepeated(documents),
    ...(yield* findReferences(enforced, enforced)),
    ...(yield* findReferences(shadows, documents)),
  ]
  // The documents of a policy with `forEach` may have the same.
  return [...groupBy(problems, formatProblem).values()].flatMap((same) => same.slice(0, 1))
}

interface Declaration extends Position {
  readonly file: string
  readonly what: string
}

function findRepeated(documents: readonly PolicyDocument[]): readonly PolicyProblem[] {
  const declarations = documents.flatMap(({ namespace, tags, file }): Declaration[] => {
    if (tags === undefined) return []
    const own = `the tags of the namespace ${JSON.stringify(namespace)}`
    const tables = [...tags.tables].map(([name, { line, column }]) => {
      return { what: `the table ${JSON.stringify([...namespace, name])}`, file, line, column }
    })
    return tags.namespace === undefined ? tables : [{ what: own, file, ...pickPosition(tags) }, ...tables]
  })
  return [...groupBy(declarations, ({ what }) => what).values()].flatMap(([first, ...more]) =>
    more.map(({ what, file, line, column }) => ({
      file,
      line,
      column,
      message: `tags: ${what} is declared at ${first?.file}:${first?.line}:${first?.column}, too; expected one declaration`,
    })),
  )
}

function pickPosition({ line, column }: Position): Position {
  return { line, column }
}

function* findReferences(
  documents: readonly PolicyDocument[],
  declaring: readonly PolicyDocument[],
): Steps<readonly PolicyProblem[]> {
  const declared = tagDocuments(declaring)
  const problems: PolicyProblem[] = []
  for (const document of documents) {
    for (const rule of document.rules) {
      for (const message of describeReferences(declared, document, rule)) {
        const { id, line, column } = rule
        problems.push({ file: document.file, line, column, message: `the rule "${id}" ${message}` })
      }
    }
    yield
  }
  return problems
}

function describeReferences(
  declared: TagFinder,
  document: PolicyDocument,
  rule: PolicyRule,
): readonly string[] {
  const { vocabulary } = declared.findTags({ namespace: [], table: undefined })
  const { restriction, condition } = rule
  const ofColumns = restriction && 'without' in restriction.columns ? restriction.columns.without : []
  return [
    ...(condition?.tags ?? []).flatMap((tag) => describeUnknown(tag, vocabulary.ofObjects, vocabulary.all)),
    ...ofColumns.flatMap((tag) => describeUnknown(tag, vocabulary.all, vocabulary.all)),
    ...describeLookAlikes(declared, document, rule),
    ...(restriction === undefined ? [] : describeColumns(declared, document, rule, restriction)),
  ]
}

/** Edits by which a name is taken for a misspelt one. */
const maxEdits = 2

/** A misspelt table would stay open. */
function describeLookAlikes(
  declared: TagFinder,
  { namespace }: PolicyDocument,
  { effect, tables = [] }: PolicyRule,
): readonly string[] {
  const names = effect === 'deny' ? declared.listTaggedTables(namespace) : []
  return tables.flatMap((table) => {
    const suggestion = names.includes(table) ? '' : suggestSimilar(table, names, maxEdits)
    if (suggestion === '' || table.includes('*')) return []
    return [
      `denies the table "${table}", which "tags.tables" does not declare${suggestion} If both exist, declare "${table}: {}"`,
    ]
  })
}

function describeUnknown(
  tag: string,
  known: ReadonlySet<string>,
  all: ReadonlySet<string>,
): readonly string[] {
  if (known.has(tag)) return []
  const expected = all.has(tag)
    ? ': only columns have it, and tags are inherited downwards; expected a tag of a namespace or table'
    : suggestSimilar(tag, known) ||
      `; expected one of ${[...known].join(', ') || 'those under "tags", where there is none'}`
  return [
    `names the tag "${tag}", which no ${all.has(tag) ? 'namespace or table has' : 'policy declares'}${expected}`,
  ]
}

function describeColumns(
  declared: TagFinder,
  { namespace }: PolicyDocument,
  { tables = [] }: PolicyRule,
  restriction: WrittenRestriction,
): readonly string[] {
  const found = declared
    .listTaggedTables(namespace)
    .filter((name) => matchesAny(tables, name))
    .map((name) => [name, declared.findTags({ namespace, table: name })] as const)
    .filter(([, { columns }]) => columns.size > 0)
  if (!('without' in restriction.columns))
    return found.flatMap(([name, table]) => describeTypes(name, table, restriction))
  const undeclared = tables
    .filter((pattern) => !found.some(([name]) => matchesAny([pattern], name)))
    .map(
      (pattern) =>
        `selects columns by tags, but "tags.tables" of the namespace has no columns for ${JSON.stringify(pattern)}`,
    )
  return [...undeclared, ...found.flatMap(([name, table]) => describeRest(name, table, restriction, tables))]
}

/** A restriction that leaves nothing of a table is an error if it names the table, but not if a pattern matches it. */
function describeRest(
  name: string,
  table: ObjectTags,
  restriction: WrittenRestriction,
  tables: readonly string[],
): readonly string[] {
  const isEmpty = tables.includes(name) && resolveRestriction(restriction, table).columns.size === 0
  return [
    ...(isEmpty
      ? [`leaves no column of ${JSON.stringify(name)}, all of which have the tags; expected a deny`]
      : []),
    ...describeTypes(name, table, restriction),
  ]
}

/** A column has one type: that which is declared. */
function describeTypes(
  name: string,
  { columns }: ObjectTags,
  { columns: written, rowsText }: WrittenRestriction,
): readonly string[] {
  const other =
    'without' in written
      ? []
      : [...written].filter(([path, type]) => (columns.get(path)?.type ?? type) !== type)
  const messages = other.map(
    ([path, type]) =>
      `has ${path}: ${type}, but "tags.tables" says that this column of ${JSON.stringify(name)} is ${columns.get(path)?.type}`,
  )
  if (rowsText === undefined) return messages
  let suggestion = ''
  try {
    parseFilter(rowsText, {
      findColumn(path) {
        const type = columns.get(path.join('.'))?.type
        if (type === undefined) suggestion = suggestSimilar(path.join('.'), columns.keys(), maxEdits)
        return type ?? (suggestion === '' ? 'unknown' : undefined)
      },
      hasVariables: true,
    })
    return messages
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    return [
      ...messages,
      `has "rows" that do not fit the columns of ${JSON.stringify(name)}: ${error.message}${suggestion}`,
    ]
  }
}
