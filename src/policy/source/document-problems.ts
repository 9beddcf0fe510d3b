import { type Steps, suggestSimilar } from '../../lib/index.ts'
import { matchesAny } from '../conditions/name-pattern.ts'
import { PolicyTree } from '../engine/policy-tree.ts'
import type { ParsedPolicies } from '../language/parse-policies.ts'
import {
  formatProblem,
  type PolicyDocument,
  PolicyError,
  type PolicyProblem,
  type PolicyRule,
} from '../language/policy-document.ts'
import { getPolicyName } from '../language/for-each.ts'
import type { Position } from '../language/read-yaml.ts'
import { FilterError } from '../restrictions/filter-tokens.ts'
import { printFilter } from '../restrictions/print-filter.ts'
import type { WrittenRestriction } from '../restrictions/restriction.ts'
import { resolveRestriction, type ObjectTags } from '../tags/object-tags.ts'
import { createFileError } from './policy-folder.ts'

/** Throws PolicyError if `count` is 0: a wrong path is more likely than the intent to deny everything. */
export function assertAnyPolicy(location: string, count: number): void {
  if (count > 0) return
  const message = 'contains no policy in .yaml or .yml files; to deny everything, keep a policy without rules'
  throw createFileError(location, message)
}

/** Throws PolicyError with every error in the files. */
export function collectDocuments(files: readonly ParsedPolicies[]): readonly PolicyDocument[] {
  assertNone(files.flatMap(({ problems }) => problems))
  return files.flatMap(({ documents }) => documents)
}

export function* assertDocuments(documents: readonly PolicyDocument[]): Steps<void> {
  assertNone(yield* findDocumentProblems(documents))
}

function assertNone(problems: readonly PolicyProblem[]): void {
  if (problems.length > 0) throw new PolicyError(problems)
}

/**
 * Finds problems of documents that come into force together: duplicate declarations, tags in several spellings, every tag
 * that a rule names and no document declares, and every restriction by tags that declared columns contradict.
 */
export function* findDocumentProblems(documents: readonly PolicyDocument[]): Steps<readonly PolicyProblem[]> {
  const declarations = documents.flatMap(listDeclarations)
  const problems = [...findRepeated(declarations), ...findOtherSpellings(declarations)]
  const inForce = new PolicyTree(documents.filter(({ isShadow }) => !isShadow))
  const all = new PolicyTree(documents)
  for (const document of documents) {
    const declared = document.isShadow ? all : inForce
    for (const rule of document.rules) {
      const at = { file: document.file, line: rule.line, column: rule.column }
      for (const problem of findRuleProblems(declared, document, rule))
        problems.push({ ...at, message: `the rule "${rule.id}" ${problem}` })
    }
    yield
  }
  // The documents of a policy with `forEach` may have the same.
  return [...new Map(problems.map((problem) => [formatProblem(problem), problem])).values()]
}

/** A declaration that only one policy may have: its name, tags of a namespace, a table. */
interface Declaration extends Position {
  readonly file: string
  readonly what: string
  readonly tags: readonly string[]
}

function listDeclarations(document: PolicyDocument): readonly Declaration[] {
  const { file, line, column, namespace, tags } = document
  // Decisions refer to a policy by its name alone.
  const what = `metadata.name: duplicate policy name "${getPolicyName(document)}"`
  const declarations: Declaration[] = [{ file, line, column, what, tags: [] }]
  if (tags?.namespace !== undefined) {
    const what = `tags: duplicate tags of the namespace ${JSON.stringify(namespace)}`
    declarations.push({ ...tags, file, what, tags: tags.namespace === 'unknown' ? [] : tags.namespace })
  }
  for (const [name, table] of tags?.tables ?? []) {
    const what = `tags: duplicate table ${JSON.stringify([...namespace, name])}`
    const ofColumns = [...table.columns.values()].flatMap((column) => column.tags)
    declarations.push({ ...table, file, what, tags: [...table.tags, ...ofColumns] })
  }
  return declarations
}

/** Finds duplicate declarations. The documents of a policy with `forEach` share one position, which is no duplicate. */
function findRepeated(declarations: readonly Declaration[]): readonly PolicyProblem[] {
  const firsts = new Map(declarations.toReversed().map((one) => [one.what, one]))
  return declarations.flatMap(({ what, file, line, column }) => {
    const first = firsts.get(what)
    if (first === undefined || (first.file === file && first.line === line && first.column === column))
      return []
    return [{ file, line, column, message: `${what}, also in ${first.file}:${first.line}` }]
  })
}

/** Finds tags that differ by case: rules that name the one would not apply to objects with the other. */
function findOtherSpellings(declarations: readonly Declaration[]): readonly PolicyProblem[] {
  const tags = declarations.flatMap((declaration) => declaration.tags)
  const firsts = new Map(tags.toReversed().map((tag) => [tag.toLowerCase(), tag]))
  return declarations.flatMap(({ file, line, column, tags }) =>
    tags.flatMap((tag) => {
      const first = firsts.get(tag.toLowerCase())
      if (first === tag) return []
      const message = `tags: the tag "${tag}" differs from "${first}" by case; expected one spelling`
      return [{ file, line, column, message }]
    }),
  )
}

const maxEdits = 2

function* findRuleProblems(
  declared: PolicyTree,
  { namespace }: PolicyDocument,
  { effect, tables = [], condition, restriction }: PolicyRule,
): Generator<string> {
  const { ofObjects, all } = declared.findTags({ namespace, table: undefined }).vocabulary
  for (const tag of condition?.tags ?? []) if (!ofObjects.has(tag)) yield describeUnknown(tag, ofObjects, all)
  const names = declared.listTaggedTables(namespace)
  for (const table of effect === 'deny' ? tables : []) {
    const isKnown = names.includes(table) || table.includes('*')
    const suggestion = isKnown ? '' : suggestSimilar(table, names, maxEdits)
    // A misspelt table would stay open.
    if (suggestion !== '')
      yield `denies the table "${table}", which "tags.tables" does not declare${suggestion} If both exist, declare "${table}: {}"`
  }
  if (restriction === undefined) return
  const found = names
    .filter((name) => matchesAny(tables, name))
    .map((name) => [name, declared.findTags({ namespace, table: name })] as const)
    .filter(([, { columns }]) => columns.size > 0)
  const without = 'without' in restriction.columns ? restriction.columns.without : undefined
  for (const tag of without ?? []) if (!all.has(tag)) yield describeUnknown(tag, all, all)
  for (const pattern of without === undefined ? [] : tables)
    if (!found.some(([name]) => matchesAny([pattern], name)))
      yield `selects columns by tags, but "tags.tables" of the namespace has no columns for ${JSON.stringify(pattern)}`
  for (const [name, table] of found) {
    // Not if a pattern matches the table.
    if (
      without !== undefined &&
      tables.includes(name) &&
      resolveRestriction(restriction, table).columns.size === 0
    )
      yield `leaves no column of ${JSON.stringify(name)}, all of which have the tags; expected a deny`
    yield* findWrongTypes(JSON.stringify(name), table, restriction)
  }
}

/** `known` are the tags that may be named, `all` includes those of columns. */
function describeUnknown(tag: string, known: ReadonlySet<string>, all: ReadonlySet<string>): string {
  if (all.has(tag))
    return `names the tag "${tag}", which no namespace or table has: only columns have it, and tags are inherited downwards; expected a tag of a namespace or table`
  const names = [...known].join(', ') || 'those under "tags", where there is none'
  return `names the tag "${tag}", which no policy declares${suggestSimilar(tag, known) || `; expected one of ${names}`}`
}

/** A column has one type: that which is declared. */
function* findWrongTypes(
  name: string,
  { columns }: ObjectTags,
  { columns: written, rows }: WrittenRestriction,
): Generator<string> {
  for (const [path, type] of 'without' in written ? [] : written) {
    const declared = columns.get(path)?.type ?? type
    if (declared !== type)
      yield `has ${path}: ${type}, but "tags.tables" says that this column of ${name} is ${declared}`
  }
  if (rows === undefined) return
  let suggestion = ''
  const findColumn = (path: string) => {
    const type = columns.get(path)?.type
    if (type === undefined) suggestion = suggestSimilar(path, columns.keys(), maxEdits)
    return type ?? (suggestion === '' ? 'unknown' : undefined)
  }
  try {
    printFilter(rows.text, findColumn, () => undefined)
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    yield `has "rows" that do not fit the columns of ${name}: ${error.message}${suggestion}`
  }
}
