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
} from '@lancedb/lancedb'

export interface NativeTableChanges {
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

/** The methods that must exist. */
export const changeMethods = {
  table:
    'stats update delete mergeInsert addColumns addColumnsWithSchema alterColumns dropColumns updateFieldMetadata',
  merge:
    'whenMatchedUpdateAll whenNotMatchedInsertAll whenNotMatchedBySourceDelete useIndex setTimeout execute',
} as const
