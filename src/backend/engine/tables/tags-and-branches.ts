import path from 'node:path'
import { z } from 'zod'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { isNotFoundError } from '../../storage/local-storage.ts'
import { optional } from '../../schemas/members.ts'
import type { Storage } from '../../storage/storage.ts'
import { versionsFolder } from '../manifest/manifest-files.ts'
import { omitMainBranch } from '../manifest/manifest.ts'
import { type TablePoint, type VersionPoint, openTable, type EngineContext } from '../native/open-table.ts'

/** Real files have some hundred bytes. */
const maxFileBytes = 64 * 1024
const maxConcurrentReads = 16

/** A tag without a branch is on main. */
const tagFile = z.object({ version: z.int(), branch: optional.text, manifestSize: z.int() })
const branchFile = z.object({
  parentBranch: optional.text,
  parentVersion: z.int(),
  createAt: z.int(),
  manifestSize: z.int(),
  metadata: optional.properties,
  identifier: z.unknown(),
})

export function openTags(context: EngineContext) {
  const openNativeTags = async (point: TablePoint) =>
    await (await openTable(context, { ...point, version: undefined })).tags()
  return {
    ...openReferenceFiles(context.storage, 'tags', tagFile),
    /** Throws TableTagAlreadyExists, TableVersionNotFound. */
    create: async (point: VersionPoint, name: string): Promise<void> =>
      (await openNativeTags(point)).create(name, point.version),
    /** Moves an existing tag to another version. Throws TableTagNotFound, TableVersionNotFound. */
    update: async (point: VersionPoint, name: string): Promise<void> =>
      (await openNativeTags(point)).update(name, point.version),
    /** Throws TableTagNotFound. */
    delete: async (location: string, name: string): Promise<void> =>
      (await openNativeTags({ location })).delete(name),
  }
}

/**
 * The branches of a table except main. Each starts at a version of its parent (default: main); `createAt` is in seconds
 * since 1970. A name that no branch can have is InvalidInput.
 */
export function openBranches(context: EngineContext) {
  const { storage } = context
  const files = openReferenceFiles(storage, 'branches', branchFile)
  const openNativeBranches = async (location: string) =>
    await (await openTable(context, { location })).branches()
  return {
    list: files.list,
    async find(location: string, name: string) {
      // Validates the name: the engine fails with one that leads out of the table.
      branchFolder(location, name)
      return await files.find(location, name)
    },
    /** Creates a branch at a point. The caller has checked that the name is free. Throws InvalidInput. */
    create: async ({ location, branch, version }: TablePoint, name: string): Promise<void> => {
      if (storage.isAsciiOnly && /[^ -~]/.test(name)) {
        throw invalidInput('in an object store, the name of a branch has only ASCII characters')
      }
      await (await openNativeBranches(location)).create(name, branch ?? null, version ?? null)
    },
    /** Throws TableBranchNotFound, and InvalidInput if other branches depend on it. */
    delete: async (location: string, name: string): Promise<void> => {
      const folder = branchFolder(location, name)
      const branches = await files.list(location)
      // The engine deletes the name first, so the rest of an interrupted deletion has no name.
      if (branches.has(name)) await (await openNativeBranches(location)).delete(name)
      const below = [...branches.keys()].filter((other) => other.startsWith(`${name}/`))
      const retained = new Set(below.map((other) => other.slice(name.length + 1).split('/')[0] ?? ''))
      try {
        await storage.assertNoLinks(location, folder)
      } catch (error) {
        if (isNotFoundError(error)) return
        throw error
      }
      // The engine leaves the folder of a branch that contains that of another, which would block the name forever.
      await storage.removeAll(folder, retained)
    },
  }
}

/** Throws InvalidInput for a name that no branch can have. */
function branchFolder(location: string, name: string): string {
  if (omitMainBranch(name) === undefined) throw invalidInput('the main branch has no folder of its own')
  return path.posix.dirname(versionsFolder(location, name))
}

/**
 * Tags and branches are files shared by the engine and its clients; they are read here, because the engine does not return
 * all of their members, but written only by the engine. A file that cannot be read is InvalidTableState.
 */
function openReferenceFiles<Contents>(
  storage: Storage,
  kind: 'tags' | 'branches',
  schema: z.ZodType<Contents>,
) {
  const find = async (location: string, name: string): Promise<Contents | undefined> => {
    // A lone surrogate is not valid text and cannot be encoded.
    if (/\p{Cs}/u.test(name)) return undefined
    try {
      // The encoded name contains no slash, so it cannot point elsewhere.
      const fileName = `${encodeURIComponent(name)}.json`
      const file = await storage.read(`${location}/_refs/${kind}/${fileName}`, maxFileBytes)
      return file && schema.parse(JSON.parse(file.bytes.toString()))
    } catch (error) {
      // Too large, or not a regular file.
      const isUnreadable = error instanceof CatalogError && error.kind === 'InvalidInput'
      if (!isUnreadable && !(error instanceof SyntaxError) && !(error instanceof z.ZodError)) throw error
      const message =
        `the ${kind === 'tags' ? 'tag' : 'branch'} ${quoteForMessage(name)} is damaged: expected JSON of Lance, of at ` +
        `most ${maxFileBytes} bytes, in its file in _refs/${kind}; restore or delete that file`
      throw new CatalogError('InvalidTableState', message, { cause: error })
    }
  }
  const list = async (location: string): Promise<ReadonlyMap<string, Contents>> => {
    const names: string[] = []
    for await (const file of storage.list(`${location}/_refs/${kind}`)) {
      const name = decodeFileName(file.name)
      if (name !== undefined) names.push(name)
    }
    const found = new Map<string, Contents>()
    for (let first = 0; first < names.length; first += maxConcurrentReads) {
      const reads = names.slice(first, first + maxConcurrentReads).map(async (name) => {
        const contents = await find(location, name)
        if (contents !== undefined) found.set(name, contents)
      })
      await Promise.all(reads)
    }
    return found
  }
  return { find, list }
}

function decodeFileName(file: string): string | undefined {
  if (!file.endsWith('.json')) return undefined
  try {
    return decodeURIComponent(file.slice(0, -'.json'.length))
  } catch {
    return undefined
  }
}
