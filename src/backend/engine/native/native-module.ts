import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import type {
  AddColumnsResult,
  AddColumnsSql,
  AlterColumnsResult,
  DeleteResult,
  DropColumnsResult,
  MergeResult,
  TableStatistics,
  UpdateFieldMetadataResult,
  UpdateResult,
  AddResult,
  ConnectionOptions,
  Session,
  IndexConfig,
  IndexStatistics,
} from '@lancedb/lancedb'

/** A handle of the engine to the tables of one folder. */
export interface NativeConnection {
  /** `mode`: create, overwrite, exist_ok. */
  createTable(name: string, file: Buffer, mode: string, namespace: string[]): Promise<NativeTable>
  createEmptyTable(name: string, schemaFile: Buffer, mode: string, namespace: string[]): Promise<NativeTable>
  openTable(name: string, namespace: string[]): Promise<NativeTable>
  close(): void
}

/** A handle of the engine to one version of a table. */
export interface NativeTable {
  schema(): Promise<Buffer>
  version(): Promise<number>
  checkout(version: number): Promise<void>
  add(file: Buffer, mode: string): Promise<AddResult>
  countRows(filter: string | null): Promise<number>
  query(): NativeQuery
  /** In the order of the ids. */
  takeRowIds(ids: bigint[]): NativeScan
  stats(): Promise<TableStatistics>
  update(predicate: string | null, columns: [column: string, expression: string][]): Promise<UpdateResult>
  delete(predicate: string): Promise<DeleteResult>
  mergeInsert(on: string[]): NativeMerge
  addColumns(columns: AddColumnsSql[]): Promise<AddColumnsResult>
  /** The columns of an Arrow IPC file, with null as values. */
  addColumnsWithSchema(file: Buffer): Promise<AddColumnsResult>
  alterColumns(alterations: NativeAlteration[]): Promise<AlterColumnsResult>
  dropColumns(columns: string[]): Promise<DropColumnsResult>
  updateFieldMetadata(updates: NativeFieldUpdate[]): Promise<UpdateFieldMetadataResult>
  tags(): Promise<NativeTags>
  branches(): Promise<NativeBranches>
  /** Only on a handle opened at a version. */
  restore(): Promise<void>
  createIndex(
    index: NativeIndex,
    column: string,
    replace: boolean,
    waitSeconds: null,
    name: string | null,
    train: boolean,
  ): Promise<void>
  dropIndex(name: string): Promise<void>
  listIndices(): Promise<IndexConfig[]>
  prewarmIndex(name: string): Promise<void>
  indexStats(name: string): Promise<IndexStatistics | null>
}

/** A merge builder; all methods but `setTimeout` and `execute` return a new one. */
export interface NativeMerge {
  whenMatchedUpdateAll(condition: string | null): NativeMerge
  whenNotMatchedInsertAll(): NativeMerge
  whenNotMatchedBySourceDelete(condition: string | null): NativeMerge
  useIndex(use: boolean): NativeMerge
  /** Milliseconds in 32 bits; greater numbers wrap around. */
  setTimeout(milliseconds: number): void
  execute(file: Buffer): Promise<MergeResult>
}

/** A change of a column; `dataType` is JSON text with a type name of the Lance format. */
export interface NativeAlteration {
  path: string
  rename?: string
  nullable?: boolean
  dataType?: string
}

/** A change of field metadata; null removes a key. */
interface NativeFieldUpdate {
  path: string
  metadata: Record<string, string | null>
  replace: boolean
}

interface NativeTags {
  create(name: string, version: number): Promise<void>
  update(name: string, version: number): Promise<void>
  delete(name: string): Promise<void>
}

interface NativeBranches {
  create(name: string, from: string | null, version: number | null): Promise<NativeTable>
  checkout(name: string, version: number | null): Promise<NativeTable>
  delete(name: string): Promise<void>
}

/** An index configuration of the engine; opaque. */
export interface NativeIndex {
  readonly constructor: { readonly name: string }
}

type IndexMethod =
  | 'btree'
  | 'bitmap'
  | 'labelList'
  | 'fm'
  | 'fts'
  | 'ivfFlat'
  | 'ivfPq'
  | 'ivfRq'
  | 'hnswPq'
  | 'hnswSq'

/** The constructors of index configurations; numbers have 32 bits and wrap around, and undefined is the default. */
export type NativeIndexFactories = Readonly<Record<IndexMethod, (...parameters: unknown[]) => NativeIndex>>

/** What is read of rows; every returned Arrow buffer is an IPC file. */
export interface NativeScan {
  select(columns: [alias: string, expression: string][]): void
  selectColumns(columns: string[]): void
  withRowId(): void
  outputSchema(): Promise<Buffer>
  execute(rowsPerBatch: number): Promise<{ next(): Promise<Buffer | null> }>
}

/** A query builder. */
export interface NativeQuery extends NativeScan {
  onlyIf(predicate: string): void
  fullTextSearch(query: { query: unknown; columns?: string[] | null }): void
  /** 32 bits; greater numbers wrap around. */
  limit(limit: number): void
  offset(offset: number): void
  nearestTo(vector: Float32Array): NativeVectorQuery
  fastSearch(): void
  orderBy(ordering: { columnName: string; ascending: boolean; nullsFirst: boolean }[]): void
  explainPlan(verbose: boolean): Promise<string>
  analyzePlan(): Promise<string>
}

/** A nearest-neighbour search for one or more vectors. */
export interface NativeVectorQuery extends Omit<NativeQuery, 'nearestTo'> {
  column(column: string): void
  addQueryVector(vector: Float32Array): void
  distanceType(type: string): void
  postfilter(): void
  refineFactor(factor: number): void
  nprobes(probes: number): void
  maximumNprobes(probes: number): void
  distanceRange(lower: number | null, upper: number | null): void
  ef(ef: number): void
  bypassVectorIndex(): void
}

/** A full-text query of the engine; opaque. */
export interface NativeTextQuery {
  readonly queryType: string
}

export interface NativeTextQueries {
  matchQuery(
    terms: string,
    column: string,
    boost: number,
    fuzziness: number | null,
    maxExpansions: number,
    operator: string,
    prefixLength: number,
  ): NativeTextQuery
  phraseQuery(terms: string, column: string, slop: number): NativeTextQuery
  boostQuery(positive: NativeTextQuery, negative: NativeTextQuery, negativeBoost: number): NativeTextQuery
  multiMatchQuery(terms: string, columns: string[], boosts: number[], operator: string): NativeTextQuery
  booleanQuery(queries: [occur: string, query: NativeTextQuery][]): NativeTextQuery
}

export interface NativeModule {
  readonly Connection: {
    new: (folder: string, options: Partial<ConnectionOptions>) => Promise<NativeConnection>
  }
  readonly Session: new (indexCacheBytes: bigint, metadataCacheBytes: bigint) => Session
  readonly JsFullTextQuery: NativeTextQueries
  readonly Index: NativeIndexFactories
}

const packageName = '@lancedb/lancedb'

const queryMethods =
  'onlyIf fullTextSearch select selectColumns limit offset fastSearch withRowId orderBy outputSchema execute explainPlan analyzePlan'
const vectorMethods =
  'column addQueryVector distanceType postfilter refineFactor nprobes maximumNprobes distanceRange ef bypassVectorIndex'

/** The methods that must exist. The handles are not public in the package, so another version may lack them. */
const requiredMethods: Readonly<Record<string, string>> = {
  Connection: 'createTable createEmptyTable openTable close',
  Table:
    'schema version checkout add countRows query takeRowIds stats update delete mergeInsert addColumns ' +
    'addColumnsWithSchema alterColumns dropColumns updateFieldMetadata tags branches restore createIndex dropIndex ' +
    'listIndices indexStats prewarmIndex',
  NativeMergeInsertBuilder:
    'whenMatchedUpdateAll whenNotMatchedInsertAll whenNotMatchedBySourceDelete useIndex setTimeout execute',
  Tags: 'create update delete',
  Branches: 'create checkout delete',
  Query: `${queryMethods} nearestTo`,
  VectorQuery: `${queryMethods} ${vectorMethods}`,
  TakeQuery: 'select selectColumns withRowId outputSchema execute',
  RecordBatchIterator: 'next',
}

/** One level of an expression takes up to 6 KB of stack. Address space only: untouched pages take no memory. */
const minStackBytes = 32 * 1024 * 1024
/** Some work on the engine's thread pool waits for other work of the pool: with one thread it waits forever. */
const minThreads = 2

/**
 * Loads the native part of the engine without the JavaScript layer. LANCEDB_LOG sets its log level; LANCE_CPU_THREADS
 * and RUST_MIN_STACK can raise threads and stacks. Throws a plain error if the installed version is not supported.
 */
export function loadNative(): NativeModule {
  process.env['LANCEDB_LOG'] ??= 'error'
  // Otherwise a query holds the pages of several uploads.
  process.env['LANCE_DEFAULT_FRAGMENT_READAHEAD'] ??= '1'
  // Otherwise the statistics of a vector index load all its centroids.
  process.env['LANCE_INCLUDE_VECTOR_CENTROIDS'] ??= 'false'
  raiseEnvironmentVariable('RUST_MIN_STACK', minStackBytes, minStackBytes)
  raiseEnvironmentVariable('LANCE_CPU_THREADS', minThreads, availableParallelism() - 2)
  const require = createRequire(import.meta.url)
  const loaded: unknown = require(path.join(path.dirname(require.resolve(packageName)), 'native.js'))
  assertMethods(loaded)
  return loaded
}

/** Sets an environment variable of the engine; raises a smaller existing value to `minimum`. */
function raiseEnvironmentVariable(name: string, minimum: number, defaultValue: number): void {
  const current = Number.parseInt(process.env[name] ?? '', 10)
  process.env[name] = String(Math.max(minimum, Number.isNaN(current) ? defaultValue : current))
}

function assertMethods(loaded: unknown): asserts loaded is NativeModule {
  const missing = Object.entries(requiredMethods).flatMap(([name, methods]) => {
    const prototype = getMember(getMember(loaded, name), 'prototype')
    return methods
      .split(' ')
      .filter((method) => typeof getMember(prototype, method) !== 'function')
      .map((method) => `${name}.${method}`)
  })
  if (typeof getMember(loaded, 'Session') !== 'function') missing.push('Session')
  const factories = getMember(loaded, 'JsFullTextQuery')
  if (typeof getMember(factories, 'matchQuery') !== 'function') missing.push('JsFullTextQuery')
  if (typeof getMember(getMember(loaded, 'Index'), 'btree') !== 'function') missing.push('Index')
  if (missing.length === 0) return
  throw new Error(`${packageName} lacks ${missing.join(', ')}: install the version that is pinned`)
}

function getMember(value: unknown, name: string): unknown {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
    ? Reflect.get(value, name)
    : undefined
}
