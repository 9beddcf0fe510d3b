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
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { Backoff, getMembers } from 'catalog-gateway/lib'
import { isSameTag, type FileInfo, type Storage } from './storage.ts'

/** The store's limit; longer names cannot exist. */
const maxKeyBytes = 1024
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
  const toObject = (file: string) => ({ Bucket: bucket, Key: toKey(file) })

  async function* listPages(prefix: string, delimiter?: '/') {
    try {
      yield* paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix, Delimiter: delimiter })
    } catch (error) {
      throwUnavailable(error)
    }
  }

  async function find<Found>(
    file: string,
    send: (object: { Bucket: string; Key: string }) => Promise<Found>,
  ): Promise<Found | undefined> {
    const object = toObject(file)
    if (object.Key.length > maxKeyBytes) return undefined
    try {
      return await send(object)
    } catch (error) {
      return readMetadata(error).status === 404 ? undefined : throwUnavailable(error)
    }
  }

  const read: Storage['read'] = async (file, limit = Number.POSITIVE_INFINITY) =>
    await find(file, async (object) => {
      const { Body, ContentLength = 0, ETag = '' } = await client.send(new GetObjectCommand(object))
      if (Body === undefined) return undefined
      if (ContentLength > limit) {
        if ('destroy' in Body) Body.destroy()
        throw invalidInput(`a file of the table has more than ${limit} bytes`)
      }
      return { bytes: Buffer.from(await Body.transformToByteArray()), eTag: ETag }
    })

  async function create(file: string, bytes: Uint8Array): Promise<boolean> {
    const object = toObject(file)
    const delays = new Backoff(conflictDelays)
    for (let attempt = 1; ; attempt += 1) {
      try {
        await client.send(new PutObjectCommand({ ...object, Body: bytes, IfNoneMatch: '*' }))
        return true
      } catch (error) {
        const { status, attempts } = readMetadata(error)
        // An earlier attempt whose response was lost may have taken the name.
        if (status === 412) return attempts > 1 && (await read(file))?.bytes.equals(bytes) === true
        // A conflict with a concurrent request for the same name: the store expects a retry.
        if (status !== 409 || attempt === conflictAttempts) throwUnavailable(error)
        await setTimeout(delays.next())
      }
    }
  }

  async function removeObjects(keys: readonly string[]): Promise<void> {
    const Objects = keys.map((Key) => ({ Key }))
    const { Errors: [first] = [] } = await client
      .send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }))
      .catch(throwUnavailable)
    if (first !== undefined) throwUnavailable(new Error(`an object was not deleted: ${first.Code}`))
  }

  return {
    engineOptions,
    isAsciiOnly: true,
    toKey,
    parseKey: (spelled) => (spelled.startsWith(uri) ? spelled.slice(uri.length) : spelled),
    toUri: (file) => file,
    read,
    create,
    makeFolder: async () => {},
    flush: async () => {},
    assertNoLinks: async () => {},
    async *list(folder) {
      const prefix = `${toKey(folder)}/`
      for await (const { Contents = [] } of listPages(prefix, '/')) {
        for (const object of Contents) {
          const name = object.Key?.slice(prefix.length) ?? ''
          if (name !== '') yield { name, stat: async () => toFileInfo(object) }
        }
      }
    },
    async listFolders(folder) {
      const prefix = `${toKey(folder)}/`
      const names: string[] = []
      for await (const { CommonPrefixes = [] } of listPages(prefix, '/')) {
        for (const { Prefix = '' } of CommonPrefixes) names.push(Prefix.slice(prefix.length, -1))
      }
      return names
    },
    async stat(file) {
      const found = await find(file, (object) => client.send(new HeadObjectCommand(object)))
      return found && toFileInfo({ ...found, Size: found.ContentLength })
    },
    /** The store cannot copy conditionally, so the bytes pass through this process. */
    async link(from, to, eTag) {
      const found = await read(from)
      if (found === undefined) return 'missing'
      if (eTag !== undefined && !isSameTag(found.eTag, eTag)) return 'changed'
      return (await create(to, found.bytes)) ? 'linked' : 'taken'
    },
    async remove(file) {
      await client.send(new DeleteObjectCommand(toObject(file))).catch(throwUnavailable)
    },
    async removeAll(folder, except = new Set()) {
      const prefix = `${toKey(folder)}/`
      const exceptKeys = new Set([...except].map(encodeKey))
      // A page has no more objects than one request deletes.
      for await (const { Contents = [] } of listPages(prefix)) {
        const keys = Contents.flatMap(({ Key = '' }) =>
          Key.startsWith(prefix) && !exceptKeys.has(Key.slice(prefix.length).split('/')[0] ?? '')
            ? [Key]
            : [],
        )
        if (keys.length > 0) await removeObjects(keys)
      }
    },
    /** Accepts only names that the engine cannot read differently, because it parses a location as a URI. */
    async assertConfined(within, location) {
      const names = location.slice(within.length + 1).split('/')
      if (!location.startsWith(`${within}/`) || !names.every((name) => /^[\w-][\w.-]*$/.test(name))) {
        throw invalidInput('expected names of ASCII letters, digits, ".", "-" and "_"')
      }
      for await (const { Contents = [] } of listPages(`${toKey(location)}/`)) {
        if (Contents.length > 0) return
        break
      }
      throw invalidInput('there is no such folder')
    },
  }
}

/** The status and the attempts of a request: the SDK adds them to every error, also to those of the network. */
function readMetadata(error: unknown): { readonly status: unknown; readonly attempts: number } {
  const { httpStatusCode: status, attempts } = getMembers(getMembers(error)['$metadata'])
  return { status, attempts: Number(attempts ?? 1) }
}

/** Throws the error for a request that the store did not carry out: ServiceUnavailable (503), without details. */
function throwUnavailable(cause: unknown): never {
  if (cause instanceof CatalogError) throw cause
  throw new CatalogError('ServiceUnavailable', 'the object store is unavailable; retry later', { cause })
}

/** Matches the engine's encoding: non-ASCII is percent-encoded, a percent sign stays. */
function encodeKey(name: string): string {
  return name.replaceAll(/[^ -~]+/gu, encodeURIComponent)
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
