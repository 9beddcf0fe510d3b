/** The methods of a table handle for tags, branches, indexes and older versions. */
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

type Count = number | undefined
type Flag = boolean | undefined
type Word = string | undefined

/** The constructors of index configurations; numbers have 32 bits and wrap around. */
export interface NativeIndexMakers {
  btree(): NativeIndex
  bitmap(): NativeIndex
  labelList(): NativeIndex
  fm(): NativeIndex
  fts(
    withPosition: Flag,
    baseTokenizer: Word,
    language: Word,
    maxTokenLength: Count,
    lowerCase: Flag,
    stem: Flag,
    removeStopWords: Flag,
    asciiFolding: Flag,
    minNgramLength: Count,
    maxNgramLength: Count,
    prefixOnly: Flag,
  ): NativeIndex
  ivfFlat(distanceType: Word, partitions: Count, iterations: Count, sampleRate: Count): NativeIndex
  ivfPq(
    distanceType: Word,
    partitions: Count,
    subVectors: Count,
    bits: Count,
    iterations: Count,
    sampleRate: Count,
  ): NativeIndex
  ivfRq(distanceType: Word, partitions: Count, bits: Count, iterations: Count, sampleRate: Count): NativeIndex
  hnswPq(
    distanceType: Word,
    partitions: Count,
    subVectors: Count,
    iterations: Count,
    sampleRate: Count,
    m: Count,
    efConstruction: Count,
  ): NativeIndex
  hnswSq(
    distanceType: Word,
    partitions: Count,
    iterations: Count,
    sampleRate: Count,
    m: Count,
    efConstruction: Count,
  ): NativeIndex
}

/** The methods that must exist. */
export const referenceMethods = {
  table: 'tags branches restore createIndex dropIndex listIndices indexStats',
  tags: 'create update delete',
  branches: 'create checkout delete',
} as const
