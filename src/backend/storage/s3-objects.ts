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
import { invalidInput } from '../../interface/errors.ts'
import { asTrouble, statusOf, wasRepeated } from './s3-errors.ts'
import {
  isSameTag,
  type FileFacts,
  type LinkOutcome,
  type ListedFile,
  type ReadFile,
  type Storage,
} from './storage.ts'

/** A bucket, or a part of one, that holds the tables. */
interface Objects {
  readonly client: S3Client
  readonly bucket: string
  readonly keyOf: (file: string) => string
}

/** A name of the interface to the store; longer ones stand for nothing. */
const longestKey = 1024
const deletedAtOnce = 1000
const conflictAttempts = 5
const conflictWaitMs = 50

/**
 * Storage beneath `root` in an object store, `s3://BUCKET/PREFIX`; a name outside of it is a plain error, before
 * anything is sent. The store must honour `If-None-Match: *` on PUT. There are no folders and no links: what a name
 * stands for is one object, which appears whole and for good.
 */
export function s3Objects(
  client: S3Client,
  root: string,
  engineOptions: Readonly<Record<string, string>>,
): Storage {
  const bucket = root.split('/')[2] ?? ''
  const uri = `s3://${bucket}/`
  const keyOf = (file: string): string => {
    if (!file.startsWith(`${root}/`)) throw new Error('object name outside of the storage of this catalog')
    return encodeKey(file.slice(uri.length))
  }
  const objects: Objects = { client, bucket, keyOf }
  return {
    engineOptions,
    isAsciiOnly: true,
    keyOf,
    readKey: (spelled) => (spelled.startsWith(uri) ? spelled.slice(uri.length) : spelled),
    uriOf: (file) => file,
    list: (folder) => list(objects, folder),
    listFolders: (folder) => listFolders(objects, folder),
    facts: (file) => facts(objects, file),
    read: (file, limit) => read(objects, file, limit),
    create: (file, bytes) => create(objects, file, bytes),
    link: (from, to, eTag) => copy(objects, from, to, eTag),
    makeFolder: async () => {},
    flush: async () => {},
    remove: (file) => remove(objects, file),
    removeAll: (folder, keep) => removeAll(objects, folder, keep),
    refuseLinks: async () => {},
    confine: (within, location) => confine(objects, within, location),
  }
}

/** As the engine spells names: what is not ASCII is percent-encoded, and a percent sign stays. */
function encodeKey(name: string): string {
  return name.replaceAll(/[^ -~]+/gu, encodeURIComponent)
}

async function* list(objects: Objects, folder: string): AsyncGenerator<ListedFile> {
  const prefix = `${objects.keyOf(folder)}/`
  for await (const { Contents = [] } of pagesOf(objects, prefix, '/')) {
    for (const object of Contents) {
      const name = object.Key?.slice(prefix.length) ?? ''
      if (name !== '') yield { name, facts: async () => factsOf(object) }
    }
  }
}

async function listFolders(objects: Objects, folder: string): Promise<readonly string[]> {
  const prefix = `${objects.keyOf(folder)}/`
  const names: string[] = []
  for await (const { CommonPrefixes = [] } of pagesOf(objects, prefix, '/')) {
    for (const { Prefix = '' } of CommonPrefixes) names.push(Prefix.slice(prefix.length, -1))
  }
  return names
}

async function* pagesOf({ client, bucket }: Objects, prefix: string, delimiter?: '/') {
  try {
    yield* paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix, Delimiter: delimiter })
  } catch (error) {
    throw asTrouble(error)
  }
}

async function facts(objects: Objects, file: string): Promise<FileFacts | undefined> {
  const found = await find(objects, file, (place) => objects.client.send(new HeadObjectCommand(place)))
  return found && factsOf({ ...found, Size: found.ContentLength })
}

async function read(
  objects: Objects,
  file: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<ReadFile | undefined> {
  return await find(objects, file, async (place) => {
    const { Body, ContentLength = 0, ETag = '' } = await objects.client.send(new GetObjectCommand(place))
    if (Body === undefined) return undefined
    if (ContentLength > limit) {
      if ('destroy' in Body) Body.destroy()
      throw invalidInput(`a file of the table has more than ${limit} bytes`)
    }
    return { bytes: Buffer.from(await Body.transformToByteArray()), eTag: ETag }
  })
}

async function find<Found>(
  { bucket, keyOf }: Objects,
  file: string,
  send: (place: { Bucket: string; Key: string }) => Promise<Found>,
): Promise<Found | undefined> {
  const key = keyOf(file)
  if (key.length > longestKey) return undefined
  try {
    return await send({ Bucket: bucket, Key: key })
  } catch (error) {
    if (statusOf(error) === 404) return undefined
    throw asTrouble(error)
  }
}

/** A listing knows fractions of the second that a single object does not tell. */
function factsOf({
  Size = 0,
  ETag = '',
  LastModified,
}: Pick<_Object, 'Size' | 'ETag' | 'LastModified'>): FileFacts {
  const millis = LastModified?.getTime() ?? 0
  return { size: Size, eTag: ETag, modifiedMillis: millis - (millis % 1000) }
}

async function create(objects: Objects, file: string, bytes: Uint8Array): Promise<boolean> {
  const place = { Bucket: objects.bucket, Key: objects.keyOf(file) }
  for (let attempt = 1; ; attempt += 1) {
    try {
      await objects.client.send(new PutObjectCommand({ ...place, Body: bytes, IfNoneMatch: '*' }))
      return true
    } catch (error) {
      if (statusOf(error) === 412) return wasRepeated(error) && (await holds(objects, file, bytes))
      // Others are at work on the same name; the store wants it to be tried again.
      if (statusOf(error) !== 409 || attempt === conflictAttempts) throw asTrouble(error)
      await setTimeout(conflictWaitMs * attempt)
    }
  }
}

/** An earlier attempt, whose answer was lost, may be what has taken the name. */
async function holds(objects: Objects, file: string, bytes: Uint8Array): Promise<boolean> {
  return (await read(objects, file))?.bytes.equals(bytes) ?? false
}

/** The store's own copying knows no condition, so the bytes go through here. */
async function copy(objects: Objects, from: string, to: string, eTag?: string): Promise<LinkOutcome> {
  const found = await read(objects, from)
  if (found === undefined) return 'missing'
  if (eTag !== undefined && !isSameTag(found.eTag, eTag)) return 'changed'
  return (await create(objects, to, found.bytes)) ? 'linked' : 'taken'
}

async function remove({ client, bucket, keyOf }: Objects, file: string): Promise<void> {
  try {
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: keyOf(file) }))
  } catch (error) {
    throw asTrouble(error)
  }
}

async function removeAll(
  objects: Objects,
  folder: string,
  keep: ReadonlySet<string> = new Set(),
): Promise<void> {
  const prefix = `${objects.keyOf(folder)}/`
  const kept = new Set([...keep].map(encodeKey))
  let found: string[] = []
  for await (const { Contents = [] } of pagesOf(objects, prefix)) {
    for (const { Key = '' } of Contents) {
      if (Key.startsWith(prefix) && !kept.has(Key.slice(prefix.length).split('/')[0] ?? '')) found.push(Key)
    }
    while (found.length >= deletedAtOnce) {
      await removeObjects(objects, found.slice(0, deletedAtOnce))
      found = found.slice(deletedAtOnce)
    }
  }
  if (found.length > 0) await removeObjects(objects, found)
}

async function removeObjects({ client, bucket }: Objects, keys: readonly string[]): Promise<void> {
  const Objects = keys.map((Key) => ({ Key }))
  try {
    const { Errors = [] } = await client.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
    )
    const [first] = Errors
    if (first !== undefined) throw new Error(`${Errors.length} objects were not deleted: ${first.Code}`)
  } catch (error) {
    throw asTrouble(error)
  }
}

/** Only names that the engine cannot read differently, for it parses a location as a URI. */
async function confine(objects: Objects, root: string, location: string): Promise<void> {
  const names = location.slice(root.length + 1).split('/')
  if (!location.startsWith(`${root}/`) || !names.every((name) => /^[\w-][\w.-]*$/.test(name))) {
    throw invalidInput('expected names of ASCII letters, digits, ".", "-" and "_"')
  }
  const prefix = `${objects.keyOf(location)}/`
  for await (const { Contents = [] } of pagesOf(objects, prefix)) {
    if (Contents.length > 0) return
    break
  }
  throw invalidInput('there is no such folder')
}
