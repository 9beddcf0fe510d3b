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
