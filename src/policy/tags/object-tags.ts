import { unknown } from '../conditions/fact.ts'
import type { TableRestriction, VisibleColumns, WrittenRestriction } from '../restrictions/restriction.ts'
import {
  listTags,
  type DeclaredColumn,
  type DeclaredTags,
  type TagNames,
  type TagVocabulary,
} from './declared-tags.ts'

/*
 * Tags belong to ids and are inherited downwards: from a namespace to all that is or will be created beneath it, and from
 * a table to its columns. If two documents declare the same thing, its tags are unknown, which counts against the caller.
 */

/** The tags of an object, own and inherited. */
export interface ObjectTags {
  readonly names: TagNames
  readonly vocabulary: TagVocabulary
}

export interface TaggedTable extends ObjectTags {
  /** The declared columns with their own tags. */
  readonly columns: ReadonlyMap<string, DeclaredColumn>
}

/** Tags of objects under policies that declare none. */
export const noTags: ObjectTags = { names: [], vocabulary: listTags([]) }

const noColumns = new Map<string, never>()

/** The tags of a namespace. `declarations` are those of its own documents. */
export function tagNamespace(parent: ObjectTags, declarations: readonly DeclaredTags[]): ObjectTags {
  return inherit(
    parent,
    declarations.flatMap(({ namespace }) => (namespace === undefined ? [] : [namespace])),
  )
}

/** The tags and columns of a table. `declarations` are those of the documents of its namespace. */
export function tagTable(
  namespace: ObjectTags,
  declarations: readonly DeclaredTags[],
  table: string,
): TaggedTable {
  const found = declarations.flatMap(({ tables }) => tables.get(table) ?? [])
  const tags = inherit(
    namespace,
    found.map(({ tags }) => tags),
  )
  return { ...tags, columns: found.length === 1 ? (found[0]?.columns ?? noColumns) : noColumns }
}

function inherit(parent: ObjectTags, own: readonly TagNames[]): ObjectTags {
  const [first = []] = own
  if (first === unknown || parent.names === unknown || own.length > 1) return { ...parent, names: unknown }
  return first.length === 0 ? parent : { ...parent, names: [...new Set([...parent.names, ...first])] }
}

/** The tags for a condition that asks for some; `unknown` if no namespace or table of the policies has one of these. */
export function readTags({ names, vocabulary }: ObjectTags, asked: readonly string[]): TagNames {
  return asked.every((tag) => vocabulary.ofObjects.has(tag)) ? names : unknown
}

/** What a restriction leaves of a table. */
export function resolveRestriction(
  { columns, ...others }: WrittenRestriction,
  table: TaggedTable,
): TableRestriction {
  return { ...others, columns: 'without' in columns ? selectColumns(table, columns.without) : columns }
}

/** The declared columns that have none of the tags. None remain if a tag is declared nowhere. */
function selectColumns(
  { names, vocabulary, columns }: TaggedTable,
  without: readonly string[],
): VisibleColumns {
  const isHidden = (tags: TagNames): boolean =>
    typeof tags === 'symbol' || without.some((tag) => tags.includes(tag))
  if (isHidden(names) || !without.every((tag) => vocabulary.all.has(tag))) return noColumns
  const shown = [...columns].filter(([, { tags }]) => !isHidden(tags))
  return new Map(shown.map(([path, { type }]) => [path, type]))
}

/** The tags in one line, equal for equal sets: `internal, pii`. */
export function formatTags({ names }: ObjectTags): string {
  return typeof names === 'symbol' ? 'unknown' : names.toSorted().join(', ')
}
