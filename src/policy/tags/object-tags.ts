import type { Position } from '../language/read-yaml.ts'
import type { ColumnType } from '../restrictions/column-types.ts'
import type { TableRestriction, WrittenRestriction } from '../restrictions/restriction.ts'

/*
 * Tags belong to ids and are inherited downwards: from a namespace to all that is or will be created beneath it, and from
 * a table to its columns. If two documents declare the same thing, its tags are unknown, which counts against the caller.
 */

/** Tags by name; `unknown` if the policies contradict each other about them. */
export type TagNames = readonly string[] | 'unknown'

interface DeclaredColumn {
  readonly type: ColumnType
  /** Its own. */
  readonly tags: readonly string[]
}

/** `line` and `column` are those of its name. */
export interface DeclaredTable extends Position {
  /** Its own. */
  readonly tags: readonly string[]
  /** By their path, joined by dots. */
  readonly columns: ReadonlyMap<string, DeclaredColumn>
}

/** The field `tags` of a document. */
export interface DeclaredTags extends Position {
  /** Tags of the namespace; undefined if the document says nothing about them. */
  readonly namespace: TagNames | undefined
  /** By name. */
  readonly tables: ReadonlyMap<string, DeclaredTable>
}

export interface TagVocabulary {
  /** Those of namespaces and tables, which conditions may name. */
  readonly ofObjects: ReadonlySet<string>
  /** Those, and the tags of columns. */
  readonly all: ReadonlySet<string>
}

/** The tags of an object, own and inherited. */
export interface ObjectTags {
  readonly names: TagNames
  readonly vocabulary: TagVocabulary
  /** The declared columns of a table, with their own tags. Empty for namespaces. */
  readonly columns: ReadonlyMap<string, DeclaredColumn>
}

export function listTags(declarations: Iterable<DeclaredTags | undefined>): TagVocabulary {
  const declared = [...declarations].flatMap((tags) => tags ?? [])
  const tables = declared.flatMap((tags) => [...tags.tables.values()])
  const ofNamespaces = declared.flatMap(({ namespace = [] }) => (namespace === 'unknown' ? [] : namespace))
  const ofObjects = new Set([...ofNamespaces, ...tables.flatMap(({ tags }) => tags)])
  const columns = tables.flatMap((table) => [...table.columns.values()])
  return { ofObjects, all: new Set([...ofObjects, ...columns.flatMap(({ tags }) => tags)]) }
}

const noColumns: ReadonlyMap<string, never> = new Map<string, never>()

export const noTags: ObjectTags = { names: [], vocabulary: listTags([]), columns: noColumns }

/** Returns the tags of a namespace or table. `own` are the declarations about it, `parent` the tags of its namespace. */
export function inheritTags(
  parent: ObjectTags,
  own: readonly { readonly tags: TagNames; readonly columns?: DeclaredTable['columns'] }[],
): ObjectTags {
  const [first, ...others] = own
  if (first === undefined) return parent
  const { tags, columns = noColumns } = first
  if (others.length > 0) return { ...parent, names: 'unknown' }
  if (tags === 'unknown' || parent.names === 'unknown') return { ...parent, names: 'unknown', columns }
  return { ...parent, names: [...new Set([...parent.names, ...tags])], columns }
}

/** Returns the part of a table that a restriction leaves. By tags, no column remains if one of them is declared nowhere. */
export function resolveRestriction(
  { columns, rows }: WrittenRestriction,
  table: ObjectTags,
): TableRestriction {
  if (!('without' in columns)) return { rows, columns }
  const { without } = columns
  const isHidden = (tags: TagNames): boolean =>
    tags === 'unknown' || without.some((tag) => tags.includes(tag))
  const isNone = isHidden(table.names) || !without.every((tag) => table.vocabulary.all.has(tag))
  const shown = isNone ? [] : [...table.columns].filter(([, { tags }]) => !isHidden(tags))
  return { rows, columns: new Map(shown.map(([path, { type }]) => [path, type])) }
}

/** The tags in one line, equal for equal sets: `internal, pii`. */
export function formatTags({ names }: ObjectTags): string {
  return names === 'unknown' ? names : names.toSorted().join(', ')
}
