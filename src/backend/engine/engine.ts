import type { SchemaDialect } from './schema/schema-dialect.ts'
import type { TablePoint, VersionPoint } from './table-point.ts'
import type { JsonArrowSchema, TableQuery } from 'catalog-gateway/catalog-api'
import type { TableColumns } from './tables/columns.ts'
import type { TableIndexes } from './tables/indexes.ts'
import type { MetadataChanges } from './manifest/edit-schema-metadata.ts'
import type { QueryPlans } from './query/query-plans.ts'
import type { TableBranches, TableTags } from './tables/tags-and-branches.ts'
import type { TableRows } from './tables/rows.ts'

export interface TableDescription {
  readonly version: number
  /** The schema metadata, which is the metadata of the table. */
  readonly metadata: Readonly<Record<string, string>>
  /** Throws Unsupported if the dialect has no name for a type. */
  schema(dialect: SchemaDialect): JsonArrowSchema
  readonly stats?: TableStatistics
}

interface TableSize {
  readonly totalBytes: number
  readonly numRows: number
  readonly numIndices: number
  readonly fragmentStats: {
    readonly numFragments: number
    /** Fragments with so few rows that compaction would speed up queries. */
    readonly numSmallFragments: number
    /** Rows per fragment. */
    readonly lengths: Readonly<Record<'min' | 'max' | 'mean' | 'p25' | 'p50' | 'p75' | 'p99', number>>
  }
}

interface TableStatistics {
  readonly numDeletedRows: number
  readonly numFragments: number
}

/** A `location` is an absolute folder of the storage whose name ends in `.lance`. Methods throw only CatalogError. */
export interface Engine {
  /** Creates a table from a complete Arrow IPC stream; `overwrite` adds a version to an existing table. */
  create(
    location: string,
    upload: Uint8Array,
    mode: 'create' | 'overwrite',
  ): Promise<{ version: number; rows: number }>
  /** Appends the rows of a complete Arrow IPC stream, or replaces all rows by them. */
  insert(
    location: string,
    upload: Uint8Array,
    mode: 'append' | 'overwrite',
    branch?: string,
  ): Promise<{ version: number; rows: number }>
  /**
   * Resolves once the schema and the first rows are known, so a failing query still gets an error response; then yields
   * the bytes of one Arrow IPC file with backpressure. `return()` of the iterator cancels the query.
   */
  query(location: string, query: TableQuery): Promise<AsyncIterable<Uint8Array>>
  count(location: string, options?: CountOptions): Promise<number>
  describe(location: string, options?: DescribeOptions): Promise<TableDescription>
  /** Measures the newest version of a branch. */
  measure(point: TablePoint): Promise<TableSize>
  /** Adds a version unless nothing changes; null removes a key. Returns the resulting metadata. */
  changeMetadata(point: TablePoint, changes: MetadataChanges): Promise<Readonly<Record<string, string>>>
  readonly rows: TableRows
  readonly columns: TableColumns
  readonly plans: QueryPlans
  readonly tags: TableTags
  readonly branches: TableBranches
  readonly indexes: TableIndexes
  restore(point: VersionPoint): Promise<void>
  /** Deletes the data with all versions. An empty location is no error. */
  drop(location: string): Promise<void>
  /** Whether the engine has stopped working and needs a new process. Call it every few seconds. */
  isStalled(): boolean
  /** Releases caches and handles; the engine cannot be used afterwards. */
  close(): Promise<void>
}

export interface CountOptions {
  readonly predicate?: string | undefined
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

export interface DescribeOptions {
  readonly branch?: string | undefined
  readonly version?: number | undefined
  readonly includeStats?: boolean | undefined
}
