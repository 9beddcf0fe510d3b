import path from 'node:path'
import { z } from 'zod'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { isNotFoundError } from '../../storage/local-storage.ts'
import type { Storage } from '../../storage/storage.ts'
import { versionsFolder } from '../manifest/manifest-files.ts'
import { omitMainBranch } from '../manifest/manifest.ts'
import { type TablePoint, type VersionPoint, openTable, type EngineContext } from '../native/open-table.ts'
import { withCatalogErrors } from '../native/native-errors.ts'

/** Real files have some hundred bytes. */
const maxFileBytes = 64 * 1024
const maxConcurrentReads = 16

const tagFile = z.object({ version: z.int(), branch: z.string().nullish(), manifestSize: z.int() })
const branchFile = z.object({
  parentBranch: z.string().nullish(),
  parentVersion: z.int(),
  createAt: z.int(),
  manifestSize: z.int(),
  metadata: z.record(z.string(), z.string()).nullish(),
  identifier: z.unknown(),
})

/** A tag; without a branch it is on main. */
export type TableTag = Readonly<z.output<typeof tagFile>>

/** Starts at a version of its parent (default: main). `createAt` is in seconds since 1970. */
type TableBranch = Readonly<z.output<typeof branchFile>>

/**
 * Tags and branches are files shared by the engine and its clients; they are read here, because the engine does not return
 * all of their members, but written only by the engine. A file that cannot be read is InvalidTableState.
 */
export function openTags(context: EngineContext) {
  const { storage } = context
  const openNativeTags = async (point: TablePoint) =>
    await (await openTable(context, { ...point, version: undefined })).tags()
  return withCatalogErrors({
    list: (location: string): Promise<ReadonlyMap<string, TableTag>> =>
      readAll(storage, location, 'tags', tagFile),
    find: (location: string, name: string): Promise<TableTag | undefined> =>
      readOne(storage, location, 'tags', name, tagFile),
    /** Throws TableTagAlreadyExists, TableVersionNotFound. */
    create: async (point: VersionPoint, name: string): Promise<void> =>
      (await openNativeTags(point)).create(name, point.version),
    /** Moves an existing tag to another version. Throws TableTagNotFound, TableVersionNotFound. */
    update: async (point: VersionPoint, name: string): Promise<void> =>
      (await openNativeTags(point)).update(name, point.version),
    /** Throws TableTagNotFound. */
    delete: async (location: string, name: string): Promise<void> =>
      (await openNativeTags({ location })).delete(name),
  })
}

/** The branches of a table except main. A name that no branch can have is InvalidInput. */
export function openBranches(context: EngineContext) {
  const { storage } = context
  const list = (location: string): Promise<ReadonlyMap<string, TableBranch>> =>
    readAll(storage, location, 'branches', branchFile)
  const find = async (location: string, name: string): Promise<TableBranch | undefined> => {
    // Validates the name: the engine fails with one that leads out of the table.
    branchFolder(location, name)
    return await readOne(storage, location, 'branches', name, branchFile)
  }
  const openNativeBranches = async (location: string) =>
    await (await openTable(context, { location })).branches()
  return withCatalogErrors({
    list,
    find,
    /** Creates a branch at a point. The caller has checked that the name is free. Throws InvalidInput. */
    create: async ({ location, branch, version }: TablePoint, name: string): Promise<void> => {
      if (storage.isAsciiOnly && /[^ -~]/.test(name)) {
        throw invalidInput('in an object store, the name of a branch has only ASCII characters')
      }
      await (await openNativeBranches(location)).create(name, branch ?? null, version ?? null)
    },
    /** Throws TableBranchNotFound, and InvalidInput if other branches depend on it. */
    delete: async (location: string, name: string): Promise<void> => {
      const others = [...(await list(location)).keys()].filter((other) => other !== name)
      // The engine deletes the name first, so the rest of an interrupted deletion has no name.
      if ((await find(location, name)) !== undefined) await (await openNativeBranches(location)).delete(name)
      await removeBranchFolder(storage, location, name, others)
    },
  })
}

/** Throws InvalidInput for a name that no branch can have. */
function branchFolder(location: string, name: string): string {
  if (omitMainBranch(name) === undefined) throw invalidInput('the main branch has no folder of its own')
  return path.posix.dirname(versionsFolder(location, name))
}

/** The engine leaves the folder of a branch that contains the folder of another, which would block the name forever. */
async function removeBranchFolder(
  storage: Storage,
  location: string,
  name: string,
  others: readonly string[],
): Promise<void> {
  const folder = branchFolder(location, name)
  const below = others.filter((other) => other.startsWith(`${name}/`))
  const retained = new Set(below.map((other) => other.slice(name.length + 1).split('/')[0] ?? ''))
  try {
    await storage.assertNoLinks(location, folder)
  } catch (error) {
    if (isNotFoundError(error)) return
    throw error
  }
  await storage.removeAll(folder, retained)
}

async function readAll<Contents>(
  storage: Storage,
  location: string,
  kind: 'tags' | 'branches',
  schema: z.ZodType<Contents>,
): Promise<ReadonlyMap<string, Contents>> {
  const names: string[] = []
  for await (const file of storage.list(`${location}/_refs/${kind}`)) {
    const name = decodeFileName(file.name)
    if (name !== undefined) names.push(name)
  }
  const found = new Map<string, Contents>()
  for (let first = 0; first < names.length; first += maxConcurrentReads) {
    const reads = names.slice(first, first + maxConcurrentReads).map(async (name) => {
      const contents = await readOne(storage, location, kind, name, schema)
      if (contents !== undefined) found.set(name, contents)
    })
    await Promise.all(reads)
  }
  return found
}

/** The encoded file name contains no slash, so it cannot point elsewhere. */
async function readOne<Contents>(
  storage: Storage,
  location: string,
  kind: 'tags' | 'branches',
  name: string,
  schema: z.ZodType<Contents>,
): Promise<Contents | undefined> {
  // A lone surrogate is not valid text and cannot be encoded.
  if (/\p{Cs}/u.test(name)) return undefined
  try {
    const file = await storage.read(
      `${location}/_refs/${kind}/${encodeURIComponent(name)}.json`,
      maxFileBytes,
    )
    return file && schema.parse(JSON.parse(file.bytes.toString()))
  } catch (error) {
    throw isDamaged(error) ? damagedFileError(kind, name, error) : error
  }
}

/** Whether the file is not JSON, not a tag or branch, too large, or not a regular file. */
function isDamaged(error: unknown): boolean {
  if (error instanceof CatalogError) return error.kind === 'InvalidInput'
  return error instanceof SyntaxError || error instanceof z.ZodError
}

function damagedFileError(kind: 'tags' | 'branches', name: string, cause: unknown): CatalogError {
  const what = `${kind === 'tags' ? 'tag' : 'branch'} ${quoteForMessage(name)}`
  return new CatalogError(
    'InvalidTableState',
    `the ${what} is damaged: expected JSON of Lance, of at most ${maxFileBytes} bytes, in its file in _refs/${kind}; restore or delete that file`,
    { cause },
  )
}

function decodeFileName(file: string): string | undefined {
  if (!file.endsWith('.json')) return undefined
  try {
    return decodeURIComponent(file.slice(0, -'.json'.length))
  } catch {
    return undefined
  }
}
