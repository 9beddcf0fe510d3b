import type { TableQuery } from '../../catalog-api/schemas/query.ts'
import type { TableColumns } from './tables/columns.ts'
import type { TableIndexes } from './tables/indexes.ts'
import type { MetadataChanges } from './manifest/edit-schema-metadata.ts'
import type { QueryPlans } from './query/query-plans.ts'
import type { TableBranches, TableTags } from './tables/tags-and-branches.ts'
import type { TableRows } from './tables/rows.ts'

/** A type in the JSON form of an Arrow schema: its name and parameters. */
export interface JsonArrowDataType {
  readonly type: string
  /** The children of a nested type. */
  readonly fields?: readonly JsonArrowField[]
  /** Bytes of a `fixed_size_binary`, items of a `fixed_size_list`, `precision * 1000 + scale` of a decimal. */
  readonly length?: number
}

/** A column, or a child of a nested one, in the JSON form of an Arrow schema. */
export interface JsonArrowField {
  readonly name: string
  readonly type: JsonArrowDataType
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

/** The JSON form of an Arrow schema in responses to DescribeTable. */
export interface JsonArrowSchema {
  readonly fields: readonly JsonArrowField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * The two sets of type names. `namespace`: the names of the interface (`utf8`, `timestamp`), without units and time
 * zones. `lance`: the logical names that the engine's remote client parses (`string`, `timestamp:us:UTC`).
 */
export type SchemaDialect = 'namespace' | 'lance'

/** The data of one version of a table, for DescribeTable. */
export interface TableDescription {
  readonly version: number
  /** The schema metadata, which is the metadata of the table. */
  readonly metadata: Readonly<Record<string, string>>
  /** Throws Unsupported if the dialect has no name for a type. */
  schema(dialect: SchemaDialect): JsonArrowSchema
  /** Present only if requested. */
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

/**
 * A point in the history of a table. An absent, empty or `main` branch is the main branch. Without a version it is the
 * newest one, the only point that can be written to.
 */
export interface TablePoint {
  readonly location: string
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

export interface VersionPoint extends TablePoint {
  readonly version: number
}

/**
 * The engine that stores the data of the tables. A `location` is an absolute folder of the storage whose name ends in
 * `.lance`. Methods throw only CatalogError.
 */
export interface Engine {
  /** Creates a table from a complete Arrow IPC stream; `overwrite` adds a version to an existing table. */
  create(location: string, upload: Uint8Array, mode: 'create' | 'overwrite'): Promise<{ version: number }>
  /** Appends the rows of a complete Arrow IPC stream, or replaces all rows by them. */
  insert(
    location: string,
    upload: Uint8Array,
    mode: 'append' | 'overwrite',
    branch?: string,
  ): Promise<{ version: number; rows: number }>
  /**
   * Runs a query. Resolves once the schema and the first rows are known, so a failing query still gets an error
   * response; then yields the bytes of one Arrow IPC file, batch by batch, with backpressure. `return()` of the
   * iterator cancels the query.
   */
  query(location: string, query: TableQuery): Promise<AsyncIterable<Uint8Array>>
  /** Counts all rows, or those that the SQL predicate selects. */
  count(location: string, options?: CountOptions): Promise<number>
  /** Returns the version, the schema and, if requested, the statistics. */
  describe(location: string, options?: DescribeOptions): Promise<TableDescription>
  /** Measures the newest version of a branch. */
  measure(point: TablePoint): Promise<TableSize>
  /**
   * Sets and removes keys of the schema metadata as a new version of the branch, unless nothing changes. Returns the
   * resulting metadata.
   */
  changeMetadata(point: TablePoint, changes: MetadataChanges): Promise<Readonly<Record<string, string>>>
  readonly rows: TableRows
  readonly columns: TableColumns
  readonly plans: QueryPlans
  readonly tags: TableTags
  readonly branches: TableBranches
  readonly indexes: TableIndexes
  /** Restores the version of a point as a new version of its branch. */
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
  readonly stats?: boolean | undefined
}

/** The file name of a manifest: V1 `{version}.manifest`, V2 `{2^64-1-version, 20 digits}.manifest`. */
export type NamingScheme = 'V1' | 'V2'

/** A version of a table: a manifest in storage. */
export interface StoredVersion {
  readonly version: number
  /** An object-store key that ends in `.manifest`; for a local file, the absolute path without the leading slash. */
  readonly manifestPath: string
  /** Bytes. */
  readonly manifestSize: number
  /** In the format of the engine's object-store client. */
  readonly eTag: string
  /** When the manifest was written, in milliseconds since 1970. */
  readonly timestampMillis: number
  readonly namingScheme: NamingScheme
}

/** A request to commit the manifest that a client has staged (CreateTableVersion). */
export interface StagingRequest {
  readonly version: number
  /** Absent, empty or `main`: the main branch. */
  readonly branch?: string | undefined
  /** The object-store key of the staging manifest, as the client spelled it. */
  readonly manifestPath: string
  readonly manifestSize?: number | undefined
  readonly eTag?: string | undefined
  readonly namingScheme?: NamingScheme | undefined
}

/** A staging manifest verified against its request; only `inspectStaging` creates one. */
export interface StagedManifest {
  readonly location: string
  readonly version: number
  /** Absent: the main branch. */
  readonly branch: string | undefined
  readonly namingScheme: NamingScheme
  /** The absolute name of the staging file. */
  readonly stagingPath: string
  /** The absolute name after publishing. */
  readonly finalPath: string
  readonly manifestSize: number
  readonly eTag: string
  /** The version that the committer had read, if the manifest contains it. */
  readonly readVersion: number | undefined
  /** The kind of commit (`Append`, `Delete`, `Overwrite`), if the manifest contains it. */
  readonly transactionKind: string | undefined
  /** The program that wrote the manifest: `lance 8.0.0`. */
  readonly writer: string | undefined
}

/** A commit that created a version. */
export interface StoredTransaction {
  readonly uuid: string
  readonly version: number
  /** Absent: the main branch. */
  readonly branch: string | undefined
  readonly readVersion: number
  /** `Append`, `Delete`; undefined if the manifest does not contain it. */
  readonly kind: string | undefined
  readonly tag: string | undefined
}

/** A manifest retained by `retain`. */
export interface RetainedManifest extends StagingRequest {
  readonly namingScheme: NamingScheme
  /** Absolute. */
  readonly retainedPath: string
}

/** The versions of a table as manifests in storage: the external manifest store. */
export interface ManifestStore {
  /** Lists versions, newest first, at most `limit`; none before the first commit. */
  list(location: string, branch: string | undefined, limit?: number): Promise<readonly StoredVersion[]>
  /** Returns one version, by default the newest; undefined if it does not exist. */
  describe(
    location: string,
    version: number | undefined,
    branch: string | undefined,
  ): Promise<StoredVersion | undefined>
  /**
   * Verifies a staging manifest to publish. Throws InvalidInput unless it lies in the `_versions` folder of the branch
   * under the final name followed by `-` and a UUID, is a regular file without a symbolic link on the path, and has the
   * size, version and branch of the request. A staging manifest that was already published is found by its entity tag,
   * so a request may be repeated.
   */
  inspectStaging(location: string, request: StagingRequest): Promise<StagedManifest>
  /**
   * Gives the staging manifest its final name, never replacing a file, and removes the staging name. Succeeds if the
   * same bytes already have that name. Throws ConcurrentModification for other bytes.
   */
  publish(staged: StagedManifest): Promise<StoredVersion>
  /**
   * Gives the staging manifest a durable second name, `retainedPath`, so that `publishRetained` does not depend on the
   * staging name. Returns the version as it will be published. Throws InvalidInput if the manifest has changed since it
   * was inspected.
   */
  retain(staged: StagedManifest, retainedPath: string): Promise<StoredVersion>
  /**
   * Gives a retained manifest its final name and removes the staging name; idempotent. Throws ConcurrentModification if
   * other bytes have the name or the retained manifest is missing.
   */
  publishRetained(location: string, retained: RetainedManifest): Promise<void>
  /**
   * Throws InvalidInput if a dataset, or the path to it from `root`, contains a symbolic link or anything but folders
   * and files, or if nothing exists there.
   */
  assertConfined(root: string, location: string): Promise<void>
  /** Finds the commit with that number on main, or with that UUID on any branch; undefined if there is none. */
  findTransaction(
    location: string,
    branches: readonly string[],
    transaction: string,
  ): Promise<StoredTransaction | undefined>
  /** Deletes the manifest of a version; a missing one is no error. */
  remove(location: string, version: number, branch: string | undefined): Promise<void>
}
