/** What storage tells of a file without reading it. */
export interface FileInfo {
  /** Bytes. */
  readonly size: number
  /** As the object-store client of the engine spells it. */
  readonly eTag: string
  /** When it was written, in milliseconds since 1970. */
  readonly modifiedMillis: number
}

/** A file of a folder. */
export interface ListedFile {
  /** The last part of its name. */
  readonly name: string
  /** Undefined where it was deleted in between. */
  readonly stat: () => Promise<FileInfo | undefined>
}

/** A file that was read whole. */
export interface FileContent {
  readonly bytes: Buffer
  readonly eTag: string
}

/** Whether a file has got another name, and if not, why. */
export type LinkOutcome = 'linked' | 'taken' | 'missing' | 'changed'

/**
 * Where the data of the tables lies, with the few acts that the catalog does there by itself; all others are the
 * engine's. Files and folders are named whole, with "/" between the parts: an absolute path of this machine, or
 * `s3://BUCKET/...`. Every method throws InterfaceErrors and, where the files of this machine fail, their errors.
 */
export interface Storage {
  /** What the engine is told to find it, by the names of its storage options. */
  readonly engineOptions: Readonly<Record<string, string>>
  /** Whether the engine finds only names of ASCII characters again. */
  readonly isAsciiOnly: boolean
  /** The object-store key of a file: without the bucket, or without the leading slash. */
  toKey(file: string): string
  /** The key that a client means, who may have sent a URI of the same storage instead. */
  parseKey(spelled: string): string
  toUri(file: string): string
  /** The files directly in a folder, in the order of their names; none where nothing is there. */
  list(folder: string): AsyncIterable<ListedFile>
  /** The names of the folders directly in a folder. */
  listFolders(folder: string): Promise<readonly string[]>
  /** Undefined where there is no file. */
  stat(file: string): Promise<FileInfo | undefined>
  /** Undefined where there is nothing. Throws InvalidInput for what is no regular file, or larger than `limit` bytes. */
  read(file: string, limit?: number): Promise<FileContent | undefined>
  /** Makes a file for good, whole or not at all; false where the name is taken, which is never overwritten. */
  create(file: string, bytes: Uint8Array): Promise<boolean>
  /**
   * Gives what `from` holds the name `to` too, in a folder that is there, whole or not at all and over nothing;
   * with a tag, only while `from` has that one.
   */
  link(from: string, to: string, eTag?: string): Promise<LinkOutcome>
  makeFolder(folder: string): Promise<void>
  /** Makes a file, or the names in a folder, last through a loss of power. */
  flush(fileOrFolder: string): Promise<void>
  /** Removes a file; one that is gone is no error. */
  remove(file: string): Promise<void>
  /** Removes a folder with all that is in it, but for what lies under the names to `keep`. */
  removeAll(folder: string, keep?: ReadonlySet<string>): Promise<void>
  /** Refuses a folder of a table that something leads out of the table: InvalidInput, or ENOENT where it is not there. */
  assertNoLinks(location: string, folder: string): Promise<void>
  /** See ManifestStore.confine. */
  assertConfined(root: string, location: string): Promise<void>
}

/** Whether two entity tags are the same; some quote them, and some do not. */
export function isSameTag(one: string, other: string): boolean {
  return one.replaceAll('"', '') === other.replaceAll('"', '')
}

/** The storage of a catalog, opened. */
export interface OpenedStorage {
  readonly storage: Storage
  /** What all names of the catalog begin with: an absolute path without symbolic links, or `s3://BUCKET/PREFIX`. */
  readonly root: string
  readonly getClientOptions: GetClientOptions
  readonly close: () => void
}

/**
 * What a client who opens the table at that location by itself is told, by the names of Lance's storage options; with
 * credentials only where they are wanted and the settings say so. Undefined where there is nothing to tell. Throws
 * ServiceUnavailable (503) while there are no credentials to be had.
 */
export type GetClientOptions = (
  location: string,
  wantsCredentials: boolean,
) => Promise<Readonly<Record<string, string>> | undefined>
