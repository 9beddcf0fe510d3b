export interface FileInfo {
  /** Bytes. */
  readonly size: number
  /** In the format of the engine's object-store client. */
  readonly eTag: string
  /** When it was written, in milliseconds since 1970. */
  readonly modifiedMillis: number
}

export interface ListedFile {
  /** The last segment of its path. */
  readonly name: string
  /** Resolves to undefined if the file was deleted meanwhile. */
  readonly stat: () => Promise<FileInfo | undefined>
}

/** Whether a file got another name, and if not, why. */
export type LinkOutcome = 'linked' | 'taken' | 'missing' | 'changed'

/**
 * The operations that the catalog performs itself; the engine performs all others. Names are absolute, with "/" between
 * the parts: a local path, or `s3://BUCKET/...`. Methods throw CatalogError and, for local files, the errors of Node.
 */
export interface Storage {
  /** Returns the same object until it changes. */
  engineOptions(): Readonly<Record<string, string>>
  /** Whether the engine can read back only ASCII names. */
  readonly isAsciiOnly: boolean
  /** The object-store key of a file: without the bucket, or without the leading slash. */
  toKey(file: string): string
  /** The key that a client sent; also accepts a URI of the same storage. */
  parseKey(spelled: string): string
  toUri(file: string): string
  /** Yields the files directly in a folder, ordered by name; none if the folder does not exist. */
  list(folder: string): AsyncIterable<ListedFile>
  listFolders(folder: string): Promise<readonly string[]>
  stat(file: string): Promise<FileInfo | undefined>
  /** Undefined without a file. Throws InvalidInput for anything but a regular file, or above `limit` bytes. */
  read(file: string, limit?: number): Promise<{ readonly bytes: Buffer; readonly eTag: string } | undefined>
  /** Creates a file durably and atomically; returns false if the name is taken. Never overwrites. */
  create(file: string, bytes: Uint8Array): Promise<boolean>
  /** Gives `from` a second name in an existing folder, atomically, never replacing a file. `eTag`: that of `from`. */
  link(from: string, to: string, eTag?: string): Promise<LinkOutcome>
  makeFolder(folder: string): Promise<unknown>
  /** Makes a file, or the names in a folder, survive a power failure. */
  flush(fileOrFolder: string): Promise<void>
  /** Removes a file; a missing one is no error. */
  remove(file: string): Promise<void>
  /** Removes a folder with its content, except the names in `except` and what is below them. */
  removeAll(folder: string, except?: ReadonlySet<string>): Promise<void>
  /** Rejects a folder of a table with a link out of the table: InvalidInput, or ENOENT if it does not exist. */
  assertNoLinks(location: string, folder: string): Promise<void>
  /** Rejects a dataset that does not exist, or with anything but folders and files on its path from `root`: InvalidInput. */
  assertConfined(root: string, location: string): Promise<void>
}

/** Whether two entity tags are equal, quoted or not. */
export function isSameTag(one: string, other: string): boolean {
  return one.replaceAll('"', '') === other.replaceAll('"', '')
}
