import type { TableQuery } from '../../catalog-api/schemas/query.ts'
import type { TableColumns } from './tables/columns.ts'
import type { TableIndexes } from './tables/indexes.ts'
import type { MetadataChanges } from './manifest/edit-schema-metadata.ts'
import type { QueryPlans } from './query/query-plans.ts'
import type { TableBranches, TableTags } from './tables/tags-and-branches.ts'
import type { TableRows } from './tables/rows.ts'

/** A type of the JSON form of an Arrow schema: the name of the type and what it needs besides. */
export interface JsonArrowDataType {
  readonly type: string
  /** The children of a nested type. */
  readonly fields?: readonly JsonArrowField[]
  /** Bytes of a `fixed_size_binary`, items of a `fixed_size_list`; of a decimal `precision * 1000 + scale`. */
  readonly length?: number
}

/** A column, or a child of a nested one, in the JSON form of an Arrow schema. */
export interface JsonArrowField {
  readonly name: string
  readonly type: JsonArrowDataType
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

/** The JSON form of an Arrow schema, as DescribeTable answers it. */
export interface JsonArrowSchema {
  readonly fields: readonly JsonArrowField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * The two vocabularies of type names. `namespace`: the names of the interface (`utf8`, `timestamp`; units and
 * time zones are lost). `lance`: the logical names that the remote client of the engine parses (`string`,
 * `timestamp:us:UTC`).
 */
export type SchemaDialect = 'namespace' | 'lance'

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
 * A point in the history of a table. Absent, empty and `main` are the main branch; without a version it is the
 * newest one, and the only point that can be written to.
 */
export interface TablePoint {
  readonly location: string
  readonly branch?: string | undefined
  readonly version?: number | undefined
}

/** One version of a branch. */
export interface VersionPoint extends TablePoint {
  readonly version: number
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

/** How the manifest of a version is named: V1 `{version}.manifest`, V2 `{2^64-1-version, 20 digits}.manifest`. */
export type NamingScheme = 'V1' | 'V2'

/** A version of a table: a manifest in storage. */
export interface StoredVersion {
  readonly version: number
  /** An object-store key, of a local file the absolute path without the leading slash; ends in `.manifest`. */
  readonly manifestPath: string
  /** Bytes. */
  readonly manifestSize: number
  /** As the object-store client of the engine spells it. */
  readonly eTag: string
  /** When the manifest was written, in milliseconds since 1970. */
  readonly timestampMillis: number
  readonly namingScheme: NamingScheme
}

/** What CreateTableVersion says about the manifest that the client has left in storage. */
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

/** A staging manifest that was found to be what the request says; only `inspectStaging` makes one. */
export interface StagedManifest {
  readonly location: string
  readonly version: number
  /** Absent: the main branch. */
  readonly branch: string | undefined
  readonly namingScheme: NamingScheme
  /** The whole name of the staging file. */
  readonly stagingPath: string
  /** The whole name that publishing gives it. */
  readonly finalPath: string
  readonly manifestSize: number
  readonly eTag: string
  /** The version that the committer had read, where the manifest tells. */
  readonly readVersion: number | undefined
  /** What the commit does: `Append`, `Delete`, `Overwrite`, where the manifest tells. */
  readonly transactionKind: string | undefined
  /** The program that wrote the manifest: `lance 8.0.0`. */
  readonly writer: string | undefined
}

/** A commit that made a version. */
export interface StoredTransaction {
  readonly uuid: string
  readonly version: number
  /** Absent: the main branch. */
  readonly branch: string | undefined
  readonly readVersion: number
  /** What it did: `Append`, `Delete`; undefined when the manifest does not tell. */
  readonly kind: string | undefined
  readonly tag: string | undefined
}

/** A manifest that `keep` has put aside. */
export interface RetainedManifest extends StagingRequest {
  readonly namingScheme: NamingScheme
  /** The whole name. */
  readonly retainedPath: string
}

/** The versions of a table as its manifests in storage: the external manifest store. */
export interface ManifestStore {
  /** The versions, the newest first, at most `limit`; none when nothing was committed yet. */
  list(location: string, branch: string | undefined, limit?: number): Promise<readonly StoredVersion[]>
  /** One version, the newest when none is named; undefined when it is not there. */
  describe(
    location: string,
    version: number | undefined,
    branch: string | undefined,
  ): Promise<StoredVersion | undefined>
  /**
   * Looks at the staging manifest that a client wants published, and throws InvalidInput unless it lies in the
   * `_versions` folder of the branch under the final name followed by `-` and a UUID, is a regular file with no
   * symbolic link on the way, and has the size, the version and the branch of the request. A staging manifest
   * that is gone because it was published is found by its entity tag, so that a request may be repeated.
   */
  inspectStaging(location: string, request: StagingRequest): Promise<StagedManifest>
  /**
   * Gives the staging manifest its final name, never over a file that is there, and removes the staging name.
   * The same bytes already there: the same success. Other bytes: ConcurrentModification.
   */
  publish(staged: StagedManifest): Promise<StoredVersion>
  /**
   * Gives the staging manifest a second name at `keptPath`, on disk for good: whatever becomes of the staging name,
   * `publishKept` has what it needs. Answers the version as it will be published. Throws InvalidInput when the
   * manifest is no longer what was inspected.
   */
  retain(staged: StagedManifest, retainedPath: string): Promise<StoredVersion>
  /**
   * Gives a kept manifest its final name and removes the staging name; once more is no error. Throws
   * ConcurrentModification when other bytes have the name, or when the kept manifest is gone.
   */
  publishRetained(location: string, retained: RetainedManifest): Promise<void>
  /**
   * Throws InvalidInput where a symbolic link, or anything else but folders and files, lies in a dataset or on the
   * way to it from `root`, and where nothing is there.
   */
  assertConfined(root: string, location: string): Promise<void>
  /**
   * The commit with that number on main, or with that UUID on any of the branches; undefined when it is not there.
   */
  findTransaction(
    location: string,
    branches: readonly string[],
    transaction: string,
  ): Promise<StoredTransaction | undefined>
  /** Deletes the manifest of a version; one that is gone is no error. */
  remove(location: string, version: number, branch: string | undefined): Promise<void>
}
