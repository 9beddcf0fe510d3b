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

/** What a handle to a table has for changing rows and columns. */
export interface NativeTableChanges {
  stats(): Promise<TableStatistics>
  update(predicate: string | null, columns: [column: string, expression: string][]): Promise<UpdateResult>
  delete(predicate: string): Promise<DeleteResult>
  mergeInsert(on: string[]): NativeMerge
  addColumns(columns: AddColumnsSql[]): Promise<AddColumnsResult>
  alterColumns(alterations: NativeAlteration[]): Promise<AlterColumnsResult>
  dropColumns(columns: string[]): Promise<DropColumnsResult>
  updateFieldMetadata(updates: NativeFieldUpdate[]): Promise<UpdateFieldMetadataResult>
}

/** A merge in the making; all but `setTimeout` and `execute` give a new one. */
export interface NativeMerge {
  whenMatchedUpdateAll(condition: string | null): NativeMerge
  whenNotMatchedInsertAll(): NativeMerge
  whenNotMatchedBySourceDelete(condition: string | null): NativeMerge
  useIndex(use: boolean): NativeMerge
  /** Milliseconds in 32 bits: greater numbers wrap round. */
  setTimeout(milliseconds: number): void
  execute(file: Buffer): Promise<MergeResult>
}

/** A change of a column; `dataType` is JSON text in the vocabulary of the Lance format. */
export interface NativeAlteration {
  path: string
  rename?: string
  nullable?: boolean
  dataType?: string
}

/** A change of the metadata of a field; null removes a key. */
interface NativeFieldUpdate {
  path: string
  metadata: Record<string, string | null>
  replace: boolean
}

/** The methods that must be there. */
export const changeMethods = {
  table: 'stats update delete mergeInsert addColumns alterColumns dropColumns updateFieldMetadata',
  merge:
    'whenMatchedUpdateAll whenNotMatchedInsertAll whenNotMatchedBySourceDelete useIndex setTimeout execute',
} as const
