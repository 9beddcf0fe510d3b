export interface NativeTableReferences<Table> {
  tags(): Promise<NativeTags>
  branches(): Promise<NativeBranches<Table>>
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
  listIndices(): Promise<NativeIndexConfiguration[]>
  prewarmIndex(name: string): Promise<void>
  indexStats(name: string): Promise<NativeIndexStatistics | null>
}

interface NativeTags {
  create(name: string, version: number): Promise<void>
  update(name: string, version: number): Promise<void>
  delete(name: string): Promise<void>
}

interface NativeBranches<Table> {
  create(name: string, from: string | null, version: number | null): Promise<Table>
  checkout(name: string, version: number | null): Promise<Table>
  delete(name: string): Promise<void>
}

/** An index configuration of the engine; opaque. */
export interface NativeIndex {
  readonly constructor: { readonly name: string }
}

export interface NativeIndexConfiguration {
  readonly name: string
  readonly indexType: string
  readonly columns: readonly string[]
  readonly indexUuid?: string
  readonly typeUrl?: string
  readonly createdAt?: Date
  readonly numIndexedRows?: number
  readonly numUnindexedRows?: number
  readonly sizeBytes?: number
  readonly numSegments?: number
  readonly indexVersion?: number
  readonly indexDetails?: unknown
}

export interface NativeIndexStatistics {
  readonly indexType: string
  readonly distanceType?: string
  readonly numIndexedRows: number
  readonly numUnindexedRows: number
  readonly numIndices?: number
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

/** The methods that must exist. */
export const referenceMethods = {
  table: 'tags branches restore createIndex dropIndex listIndices indexStats prewarmIndex',
  tags: 'create update delete',
  branches: 'create checkout delete',
} as const
