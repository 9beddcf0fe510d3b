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
