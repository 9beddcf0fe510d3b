import type { ColumnType, Kysely } from 'kysely'

/** Every namespace and every table is one row; so their names share one name space under a parent. */
interface ObjectTable {
  /** Random, for good: the id of an object survives a rename. */
  object_id: string
  /** The names from the root down, joined by `/`, which no name holds; the root is the empty text. */
  path: string
  /** The path of the namespace above; null for the root alone. */
  parent_path: string | null
  name: string
  kind: 'namespace' | 'table'
  /** JSON text of a map of strings. */
  properties: string
  /** Only of a table: the folder of its data, relative to the data folder. */
  location: string | null
  /** Only of a table. */
  state: TableState | null
  /** Milliseconds since 1970. */
  created_at: number
}

/**
 * `creating`: the name is reserved while the engine writes the first version; nobody sees the table yet.
 * `declared`: the name is there, data is not. `ready`: the table has data.
 */
export type TableState = 'creating' | 'declared' | 'ready'

/** A version that a client committed through CreateTableVersion. */
interface VersionTable {
  object_id: string
  branch: string
  version: number
  /** The staging manifest, as the client spelled it: a replay is known by it. */
  staging_path: string
  manifest_size: number
  /** As the client sent it. */
  e_tag: string | null
  naming_scheme: 'V1' | 'V2'
  /** JSON text of a map of strings. */
  metadata: string | null
  /** `recorded`: its manifest may still lie at the staging path. `final`: it has its final name. */
  state: ColumnType<'recorded' | 'final', 'recorded', 'final'>
  /** Only of a version that was committed by a batch: the name under which its manifest was put aside. */
  kept_name: string | null
  created_at: number
}

/** A version that a batch deleted, and whose manifest is still to be removed. */
interface DoomedVersionTable {
  object_id: string
  branch: string
  version: number
}

/** What AlterTransaction has changed of a transaction. */
interface TransactionTable {
  object_id: string
  /** The UUID that the committer gave it. */
  transaction_id: string
  status: string | null
  /** JSON text of a map of strings. */
  properties: string
}

/** Folders of data that no object owns any more, and that are still to be deleted. */
interface LeftoverTable {
  location: string
  /** What the object was that owned it. */
  object_id: string
}

/** One row: which catalog this is. */
interface CatalogIdentityTable {
  name: 'catalog'
  /** Random, for good. */
  catalog_id: string
  /** `marked`: the storage of the tables bears the id. */
  state: 'new' | 'marked'
}

/** The tables of the catalog store. */
export interface CatalogTables {
  objects: ObjectTable
  table_versions: VersionTable
  doomed_versions: DoomedVersionTable
  transactions: TransactionTable
  leftovers: LeftoverTable
  catalog_identity: CatalogIdentityTable
}

/** The catalog store, or one transaction on it. */
export type CatalogDatabase = Kysely<CatalogTables>
