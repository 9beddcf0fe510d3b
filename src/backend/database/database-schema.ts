import type { ColumnType, Kysely } from 'kysely'

/** Every namespace and every table is one row, so they share one set of names per parent. */
interface ObjectTable {
  /** Random and permanent: it survives a rename. */
  object_id: string
  /** The names from the root down, joined by `/`, which names cannot contain; the root is the empty text. */
  path: string
  /** The path of the parent namespace; null only for the root. */
  parent_path: string | null
  name: string
  kind: 'namespace' | 'table'
  /** A JSON map of strings. */
  properties: string
  /** Only for tables: the data folder of the table, relative to that of the catalog. */
  location: string | null
  /** Only for tables. */
  state: TableState | null
  created_at: number
}

/**
 * `creating`: the name is reserved while the engine writes the first version; the table is invisible. `declared`: the
 * name exists without data. `ready`: the table has data.
 */
export type TableState = 'creating' | 'declared' | 'ready'

/** A version that a client committed through CreateTableVersion. */
interface VersionTable {
  object_id: string
  branch: string
  version: number
  /** The staging manifest as the client spelled it; identifies a replay. */
  staging_path: string
  manifest_size: number
  /** The entity tag of the staging manifest that was verified. */
  e_tag: string | null
  naming_scheme: 'V1' | 'V2'
  /** A JSON map of strings. */
  metadata: string | null
  /** `recorded`: its manifest may still be at the staging path. `final`: it has its final name. */
  state: ColumnType<'recorded' | 'final', 'recorded', 'final'>
  /** Only for versions committed by a batch: the name of the retained manifest. */
  kept_name: string | null
  created_at: number
}

/** A deleted version whose manifest is still to be removed. */
interface DeletedVersionTable {
  object_id: string
  branch: string
  version: number
}

/** Data folders without an owner that are still to be deleted. */
interface LeftoverTable {
  location: string
  object_id: string
}

/** One row: the identity of this catalog. */
interface CatalogIdentityTable {
  name: 'catalog'
  /** Random and permanent. */
  catalog_id: string
  /** `marked`: the storage of the tables carries the id. */
  state: 'new' | 'marked'
}

/** Work that continues after the response to the request that started it. */
interface JobTable {
  /** Random. */
  job_id: string
  operation: string
  /** The table that the job changes; it may no longer exist. */
  object_id: string
  /** The path of that table when the job was submitted. */
  path: string
  /** The parameters as JSON. */
  request: string
  state: JobState
  /** 1 if the job is to end without a further change. */
  cancel_requested: 0 | 1
  /** How often a process has started the job. */
  attempts: number
  /** As JSON; only of a finished job. */
  result: string | null
  /** As JSON; only of a failed job. */
  failure: string | null
  created_at: number
  started_at: number | null
  /** Null until the job is finished, failed or cancelled. */
  ended_at: number | null
}

/** `running` is also the state of a job whose process died. */
export type JobState = 'queued' | 'running' | 'finished' | 'failed' | 'cancelled'

export interface CatalogTables {
  objects: ObjectTable
  table_versions: VersionTable
  doomed_versions: DeletedVersionTable
  jobs: JobTable
  leftovers: LeftoverTable
  catalog_identity: CatalogIdentityTable
}

/** The catalog database, or one transaction on it. */
export type CatalogDatabase = Kysely<CatalogTables>
