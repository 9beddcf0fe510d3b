/** The file name of a manifest: V1 `{version}.manifest`, V2 `{2^64-1-version, 20 digits}.manifest`. */
export type NamingScheme = 'V1' | 'V2'

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

/** A version whose manifest has that name; listing it opens no file. */
export interface ListedVersion {
  readonly version: number
  readonly namingScheme: NamingScheme
  /** Undefined if the manifest is no regular file, or was deleted meanwhile. */
  readonly read: () => Promise<StoredVersion | undefined>
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

export interface RetainedManifest extends StagingRequest {
  readonly namingScheme: NamingScheme
  /** Absolute. */
  readonly retainedPath: string
}

/** The versions of a table as manifests in storage: the external manifest store. */
export interface ManifestStore {
  /** Lists versions, newest first; none before the first commit. */
  list(location: string, branch: string | undefined): Promise<readonly ListedVersion[]>
  /** Returns one version, by default the newest; undefined if it does not exist. */
  describe(
    location: string,
    version: number | undefined,
    branch: string | undefined,
  ): Promise<StoredVersion | undefined>
  /**
   * Verifies a staging manifest. Throws InvalidInput unless it is in the `_versions` folder of the branch under the
   * final name followed by `-` and a UUID, is a regular file without a symbolic link on the path, and has the size,
   * version and branch of the request. A published one is found by its entity tag, so a request may be repeated.
   */
  inspectStaging(location: string, request: StagingRequest): Promise<StagedManifest>
  /**
   * Gives the staging manifest its final name; never replaces a file. Succeeds if the same bytes have that name already;
   * throws ConcurrentModification for other bytes, and InvalidInput if the manifest has changed since it was verified.
   */
  publish(staged: StagedManifest): Promise<StoredVersion>
  /**
   * Gives the staging manifest a durable second name, so that `publishRetained` does not depend on the staging name.
   * Returns the version as it will be published. Throws InvalidInput if the manifest has changed.
   */
  retain(staged: StagedManifest, retainedPath: string): Promise<StoredVersion>
  /** Idempotent. Throws ConcurrentModification if other bytes have the name or the retained manifest is missing. */
  publishRetained(location: string, retained: RetainedManifest): Promise<void>
  /** Throws InvalidInput unless the dataset and its path from `root` exist and consist of folders and files only. */
  assertConfined(root: string, location: string): Promise<void>
  /**
   * Finds the commit with that number on main, or with that UUID on any branch; undefined if there is none. Without a
   * transaction file of that UUID, only the newest 200 versions are searched.
   */
  findTransaction(
    location: string,
    branches: readonly string[],
    transaction: string,
  ): Promise<StoredTransaction | undefined>
  /** Deletes the manifest of a version; a missing one is no error. */
  remove(location: string, version: number, branch: string | undefined): Promise<void>
}
