import type { JsonArrowSchema, SchemaDialect } from './schema/json-arrow-schema.ts'
import type { TablePoint, VersionPoint } from './table-point.ts'
import type { TableQuery } from '../../catalog-api/schemas/query.ts'
import type { TableColumns } from './tables/columns.ts'
import type { TableIndexes } from './tables/indexes.ts'
import type { MetadataChanges } from './manifest/edit-schema-metadata.ts'
import type { QueryPlans } from './query/query-plans.ts'
import type { TableBranches, TableTags } from './tables/tags-and-branches.ts'
import type { TableRows } from './tables/rows.ts'

/** What DescribeTable tells about the data of one version of a table. */
export interface TableDescription {
  readonly version: number
  /** The metadata of the schema, which is the metadata of the table. */
  readonly metadata: Readonly<Record<string, string>>
  /** The schema in one of the two vocabularies; `Unsupported` when a type has no name in it. */
  schema(dialect: SchemaDialect): JsonArrowSchema
  /** Only when asked for. */
  readonly stats?: TableStatistics
}

/** How large a table is. */
interface TableSize {
  readonly totalBytes: number
  readonly numRows: number
  readonly numIndices: number
  readonly fragmentStats: {
    readonly numFragments: number
    /** Of too few rows; rewriting them together would speed up queries. */
    readonly numSmallFragments: number
    /** The rows of the fragments: least, most, mean and percentiles. */
    readonly lengths: Readonly<Record<'min' | 'max' | 'mean' | 'p25' | 'p50' | 'p75' | 'p99', number>>
  }
}

/** The statistics that DescribeTable answers with `load_detailed_metadata`. */
interface TableStatistics {
  readonly numDeletedRows: number
  readonly numFragments: number
}

/**
 * The engine that holds the data of the tables. A `location` is a folder of the storage, named whole, whose name
 * ends in `.lance`. Every method throws an InterfaceError, and no other error.
 */
export interface Engine {
  /** Creates a table from a whole Arrow IPC stream; `overwrite` adds a version to a table that is there. */
  create(location: string, upload: Uint8Array, mode: 'create' | 'overwrite'): Promise<{ version: number }>
  /** Adds the rows of a whole Arrow IPC stream, or replaces all rows by them. */
  insert(
    location: string,
    upload: Uint8Array,
    mode: 'append' | 'overwrite',
    branch?: string,
  ): Promise<{ version: number; rows: number }>
  /**
   * Runs a query. Resolves when the schema and the first rows are known, so that a query that fails is answered
   * with an error; then yields the bytes of one Arrow IPC file, batch by batch, no faster than they are taken.
   * `return()` of the iterator gives up the rest of the query.
   */
  query(location: string, query: TableQuery): Promise<AsyncIterable<Uint8Array>>
  /** Counts the rows, all of them or those that the SQL predicate selects. */
  count(location: string, options?: CountOptions): Promise<number>
  /** The version, the schema and, when asked for, the statistics. */
  describe(location: string, options?: DescribeOptions): Promise<TableDescription>
  /** How large the newest version of a branch is. */
  measure(point: TablePoint): Promise<TableSize>
  /**
   * Sets and removes keys of the metadata of the schema, as a new version of the branch unless nothing changes.
   * Answers the metadata that there is then.
   */
  changeMetadata(point: TablePoint, changes: MetadataChanges): Promise<Readonly<Record<string, string>>>
  readonly rows: TableRows
  readonly columns: TableColumns
  readonly plans: QueryPlans
  readonly tags: TableTags
  readonly branches: TableBranches
  readonly indexes: TableIndexes
  /** Makes the version of a point the newest one of its branch, as a new version. */
  restore(point: VersionPoint): Promise<void>
  /** Deletes the data with all versions. A location with nothing in it is no error. */
  drop(location: string): Promise<void>
  /** True when the engine has stopped working, and only a new process helps; to be called every few seconds. */
  isStalled(): boolean
  /** Lets go of caches and handles; the engine is of no use afterwards. */
  close(): Promise<void>
}

/** Which rows of which version are counted. */
export interface CountOptions {
  readonly predicate?: string | undefined
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

/** Which version is described, and how much of it. */
export interface DescribeOptions {
  readonly branch?: string | undefined
  readonly version?: number | undefined
  readonly stats?: boolean | undefined
}
