import { groupBy } from '../../lib/group-by.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { findTags, getVocabulary, listTaggedTables } from '../analysis/find-tags.ts'
import { indexDocuments, matchesAny, type DocumentIndex } from '../analysis/reaching-rules.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import { formatProblem, PolicyError, type PolicyProblem } from '../language/policy-error.ts'
import type { Position } from '../language/yaml/read-yaml.ts'
import { FilterError } from '../restrictions/filter-error.ts'
import { parseFilter } from '../restrictions/parse-filter.ts'
import { printFilterAsWritten } from '../restrictions/print-filter.ts'
import type { WrittenRestriction } from '../restrictions/restriction.ts'
import { resolveRestriction, type TaggedTable } from '../tags/object-tags.ts'
import { isEnforced } from './compile-documents.ts'

/** Returns the documents of a source. Throws PolicyError with all their tag problems, see `findTagProblems`. */
export function assertTags(documents: readonly PolicyDocument[]): readonly PolicyDocument[] {
  const problems = findTagProblems(documents)
  if (problems.length > 0) throw new PolicyError(problems)
  return documents
}

/**
 * Finds everything that is declared twice, every tag that a rule names and none of the documents declares, and every
 * restriction by tags that declared columns contradict.
 */
export function findTagProblems(documents: readonly PolicyDocument[]): readonly PolicyProblem[] {
  const enforced = documents.filter(isEnforced)
  const shadows = documents.filter((document) => !isEnforced(document))
  const problems = [
    ...findRepeated(documents),
    ...findReferences(enforced, enforced),
    ...findReferences(shadows, documents),
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

function findReferences(
  documents: readonly PolicyDocument[],
  declaring: readonly PolicyDocument[],
): readonly PolicyProblem[] {
  const index = indexDocuments(declaring)
  const vocabulary = getVocabulary(index)
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { restriction, condition } = rule
      const ofColumns = restriction && 'without' in restriction.columns ? restriction.columns.without : []
      const messages = [
        ...(condition?.tags ?? []).flatMap((tag) =>
          describeUnknown(tag, vocabulary.ofObjects, vocabulary.all),
        ),
        ...ofColumns.flatMap((tag) => describeUnknown(tag, vocabulary.all, vocabulary.all)),
        ...(restriction === undefined ? [] : describeColumns(index, document, rule, restriction)),
      ]
      const { line, column } = rule
      return messages.map((message) => ({
        file: document.file,
        line,
        column,
        message: `the rule "${rule.id}" ${message}`,
      }))
    }),
  )
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
  index: DocumentIndex,
  { namespace }: PolicyDocument,
  { tables = [] }: PolicyRule,
  restriction: WrittenRestriction,
): readonly string[] {
  const found = listTaggedTables(index, namespace)
    .filter((name) => matchesAny(tables, name))
    .map((name) => [name, findTags(index, { namespace, table: name })] as const)
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
  table: TaggedTable,
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
  { columns }: TaggedTable,
  { columns: written, rows }: WrittenRestriction,
): readonly string[] {
  const other =
    'without' in written
      ? []
      : [...written].filter(([path, type]) => (columns.get(path)?.type ?? type) !== type)
  const messages = other.map(
    ([path, type]) =>
      `has ${path}: ${type}, but "tags.tables" says that this column of ${JSON.stringify(name)} is ${columns.get(path)?.type}`,
  )
  if (rows === undefined) return messages
  try {
    parseFilter(printFilterAsWritten(rows), {
      findColumn: (path) => columns.get(path.join('.'))?.type ?? 'unknown',
      hasVariables: true,
    })
    return messages
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    return [
      ...messages,
      `has "rows" that do not fit the columns of ${JSON.stringify(name)}: ${error.message}`,
    ]
  }
}
