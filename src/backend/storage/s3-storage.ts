import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  type _Object,
  type S3Client,
} from '@aws-sdk/client-s3'
import { setTimeout } from 'node:timers/promises'
import { invalidInput } from 'catalog-gateway/catalog-api'
import { toUnavailableError, getHttpStatus, wasRetried } from './storage-errors.ts'
import {
  isSameTag,
  type FileInfo,
  type LinkOutcome,
  type ListedFile,
  type FileContent,
  type Storage,
} from './storage.ts'
import { Backoff } from 'catalog-gateway/lib'

/** A bucket, or a prefix of one, that holds the tables. */
interface S3Objects {
  readonly client: S3Client
  readonly bucket: string
  readonly toKey: (file: string) => string
}

/** The store's limit; longer names cannot exist. */
const maxKeyBytes = 1024
const deleteBatchSize = 1000
const conflictAttempts = 5
const conflictDelays = { minMs: 50, maxMs: 250 }

/**
 * The store must honour `If-None-Match: *` on PUT. A name outside `root` is a plain error, before any request. Folders
 * and links do not exist: a name is one object, which appears complete and durable.
 */
export function createS3Storage(
  client: S3Client,
  root: string,
  engineOptions: Storage['engineOptions'],
): Storage {
  const bucket = root.split('/')[2] ?? ''
  const uri = `s3://${bucket}/`
  const toKey = (file: string): string => {
    if (!file.startsWith(`${root}/`)) throw new Error('object name outside of the storage of this catalog')
    return encodeKey(file.slice(uri.length))
  }
  const objects: S3Objects = { client, bucket, toKey }
  return {
    engineOptions,
    isAsciiOnly: true,
    toKey,
    parseKey: (spelled) => (spelled.startsWith(uri) ? spelled.slice(uri.length) : spelled),
    toUri: (file) => file,
    list: (folder) => list(objects, folder),
    listFolders: (folder) => listFolders(objects, folder),
    stat: (file) => statObject(objects, file),
    read: (file, limit) => read(objects, file, limit),
    create: (file, bytes) => create(objects, file, bytes),
    link: (from, to, eTag) => copy(objects, from, to, eTag),
    makeFolder: async () => {},
    flush: async () => {},
    remove: (file) => remove(objects, file),
    removeAll: (folder, except) => removeAll(objects, folder, except),
    assertNoLinks: async () => {},
    assertConfined: (within, location) => assertConfined(objects, within, location),
  }
}

/** Matches the engine's encoding: non-ASCII is percent-encoded, a percent sign stays. */
function encodeKey(name: string): string {
  return name.replaceAll(/[^ -~]+/gu, encodeURIComponent)
}

async function* list(objects: S3Objects, folder: string): AsyncGenerator<ListedFile> {
  const prefix = `${objects.toKey(folder)}/`
  for await (const { Contents = [] } of listPages(objects, prefix, '/')) {
    for (const object of Contents) {
      const name = object.Key?.slice(prefix.length) ?? ''
      if (name !== '') yield { name, stat: async () => toFileInfo(object) }
    }
  }
}

async function listFolders(objects: S3Objects, folder: string): Promise<readonly string[]> {
  const prefix = `${objects.toKey(folder)}/`
  const names: string[] = []
  for await (const { CommonPrefixes = [] } of listPages(objects, prefix, '/')) {
    for (const { Prefix = '' } of CommonPrefixes) names.push(Prefix.slice(prefix.length, -1))
  }
  return names
}

async function* listPages({ client, bucket }: S3Objects, prefix: string, delimiter?: '/') {
  try {
    yield* paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix, Delimiter: delimiter })
  } catch (error) {
    throw toUnavailableError(error)
  }
}

async function statObject(objects: S3Objects, file: string): Promise<FileInfo | undefined> {
  const found = await find(objects, file, (location) => objects.client.send(new HeadObjectCommand(location)))
  return found && toFileInfo({ ...found, Size: found.ContentLength })
}

async function read(
  objects: S3Objects,
  file: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<FileContent | undefined> {
  return await find(objects, file, async (location) => {
    const { Body, ContentLength = 0, ETag = '' } = await objects.client.send(new GetObjectCommand(location))
    if (Body === undefined) return undefined
    if (ContentLength > limit) {
      if ('destroy' in Body) Body.destroy()
      throw invalidInput(`a file of the table has more than ${limit} bytes`)
    }
    return { bytes: Buffer.from(await Body.transformToByteArray()), eTag: ETag }
  })
}

async function find<Found>(
  { bucket, toKey }: S3Objects,
  file: string,
  send: (location: { Bucket: string; Key: string }) => Promise<Found>,
): Promise<Found | undefined> {
  const key = toKey(file)
  if (key.length > maxKeyBytes) return undefined
  try {
    return await send({ Bucket: bucket, Key: key })
  } catch (error) {
    if (getHttpStatus(error) === 404) return undefined
    throw toUnavailableError(error)
  }
}

/** A listing has fractions of a second that a request for a single object lacks. */
function toFileInfo({
  Size = 0,
  ETag = '',
  LastModified,
}: Pick<_Object, 'Size' | 'ETag' | 'LastModified'>): FileInfo {
  const millis = LastModified?.getTime() ?? 0
  return { size: Size, eTag: ETag, modifiedMillis: millis - (millis % 1000) }
}

async function create(objects: S3Objects, file: string, bytes: Uint8Array): Promise<boolean> {
  const location = { Bucket: objects.bucket, Key: objects.toKey(file) }
  const delays = new Backoff(conflictDelays)
  for (let attempt = 1; ; attempt += 1) {
    try {
      await objects.client.send(new PutObjectCommand({ ...location, Body: bytes, IfNoneMatch: '*' }))
      return true
    } catch (error) {
      if (getHttpStatus(error) === 412) return wasRetried(error) && (await hasContent(objects, file, bytes))
      // A conflict with a concurrent request for the same name: the store expects a retry.
      if (getHttpStatus(error) !== 409 || attempt === conflictAttempts) throw toUnavailableError(error)
      await setTimeout(delays.next())
    }
  }
}

/** An earlier attempt whose response was lost may have taken the name. */
async function hasContent(objects: S3Objects, file: string, bytes: Uint8Array): Promise<boolean> {
  return (await read(objects, file))?.bytes.equals(bytes) ?? false
}

/** The store cannot copy conditionally, so the bytes pass through this process. */
async function copy(objects: S3Objects, from: string, to: string, eTag?: string): Promise<LinkOutcome> {
  const found = await read(objects, from)
  if (found === undefined) return 'missing'
  if (eTag !== undefined && !isSameTag(found.eTag, eTag)) return 'changed'
  return (await create(objects, to, found.bytes)) ? 'linked' : 'taken'
}

async function remove({ client, bucket, toKey }: S3Objects, file: string): Promise<void> {
  try {
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: toKey(file) }))
  } catch (error) {
    throw toUnavailableError(error)
  }
}

async function removeAll(
  objects: S3Objects,
  folder: string,
  except: ReadonlySet<string> = new Set(),
): Promise<void> {
  const prefix = `${objects.toKey(folder)}/`
  const exceptKeys = new Set([...except].map(encodeKey))
  let found: string[] = []
  for await (const { Contents = [] } of listPages(objects, prefix)) {
    for (const { Key = '' } of Contents) {
      if (Key.startsWith(prefix) && !exceptKeys.has(Key.slice(prefix.length).split('/')[0] ?? ''))
        found.push(Key)
    }
    while (found.length >= deleteBatchSize) {
      await removeObjects(objects, found.slice(0, deleteBatchSize))
      found = found.slice(deleteBatchSize)
    }
  }
  if (found.length > 0) await removeObjects(objects, found)
}

async function removeObjects({ client, bucket }: S3Objects, keys: readonly string[]): Promise<void> {
  const Objects = keys.map((Key) => ({ Key }))
  try {
    const { Errors = [] } = await client.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
    )
    const [first] = Errors
    if (first !== undefined) throw new Error(`${Errors.length} objects were not deleted: ${first.Code}`)
  } catch (error) {
    throw toUnavailableError(error)
  }
}

/** Accepts only names that the engine cannot read differently, because it parses a location as a URI. */
async function assertConfined(objects: S3Objects, root: string, location: string): Promise<void> {
  const names = location.slice(root.length + 1).split('/')
  if (!location.startsWith(`${root}/`) || !names.every((name) => /^[\w-][\w.-]*$/.test(name))) {
    throw invalidInput('expected names of ASCII letters, digits, ".", "-" and "_"')
  }
  const prefix = `${objects.toKey(location)}/`
  for await (const { Contents = [] } of listPages(objects, prefix)) {
    if (Contents.length > 0) return
    break
  }
  throw invalidInput('there is no such folder')
}
