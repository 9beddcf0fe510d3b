import type { unknown } from '../conditions/fact.ts'
import type { ColumnType } from '../restrictions/filter-expression.ts'
import type { Position } from '../language/read-yaml.ts'

/** Tags by name; `unknown` if the policies contradict each other about them. */
export type TagNames = readonly string[] | typeof unknown

export interface DeclaredColumn {
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

/** What the field `tags` of a document declares about its namespace. */
export interface DeclaredTags extends Position {
  /** Tags of the namespace; undefined if the document says nothing about them. */
  readonly namespace: TagNames | undefined
  /** By name. */
  readonly tables: ReadonlyMap<string, DeclaredTable>
}

/** All tags that policies declare. */
export interface TagVocabulary {
  /** Those of namespaces and tables, which conditions may name. */
  readonly ofObjects: ReadonlySet<string>
  /** Those, and the tags of columns. */
  readonly all: ReadonlySet<string>
}

export function listTags(declarations: Iterable<DeclaredTags | undefined>): TagVocabulary {
  const ofObjects = new Set<string>()
  const ofColumns = new Set<string>()
  for (const declared of declarations) {
    if (declared === undefined) continue
    const { namespace = [], tables } = declared
    if (typeof namespace !== 'symbol') for (const tag of namespace) ofObjects.add(tag)
    for (const { tags, columns } of tables.values()) {
      for (const tag of tags) ofObjects.add(tag)
      for (const column of columns.values()) for (const tag of column.tags) ofColumns.add(tag)
    }
  }
  return { ofObjects, all: new Set([...ofObjects, ...ofColumns]) }
}
