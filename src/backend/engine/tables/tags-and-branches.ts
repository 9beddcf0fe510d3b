import { z } from 'zod'
import { invalidInput } from '../../../catalog-api/catalog-error.ts'
import { isNotFoundError } from '../../storage/local-storage.ts'
import type { Storage } from '../../storage/storage.ts'
import type { TablePoint, VersionPoint } from '../table-point.ts'
import { withCatalogErrors } from '../native/native-errors.ts'
import { openTable, type EngineContext } from '../native/open-table.ts'

const tagFile = z.object({ version: z.int(), branch: z.string().nullish(), manifestSize: z.int() })
const branchFile = z.object({
  parentBranch: z.string().nullish(),
  parentVersion: z.int(),
  createAt: z.int(),
  manifestSize: z.int(),
  metadata: z.record(z.string(), z.string()).nullish(),
  identifier: z.unknown(),
})

/** A name for a version; no branch is main. */
export type TableTag = Readonly<z.output<typeof tagFile>>

/**
 * A line of versions of its own, from a version of its parent on; no parent is main. `createAt` is in seconds
 * since 1970. What the engine knows the branch by is `identifier`.
 */
type TableBranch = Readonly<z.output<typeof branchFile>>

/** The names that versions of a table have. */
export interface TableTags {
  list(location: string): Promise<ReadonlyMap<string, TableTag>>
  find(location: string, name: string): Promise<TableTag | undefined>
  /** Throws TableTagAlreadyExists, TableVersionNotFound. */
  create(point: VersionPoint, name: string): Promise<void>
  /** Lets a tag that is there stand for another version. Throws TableTagNotFound, TableVersionNotFound. */
  update(point: VersionPoint, name: string): Promise<void>
  /** Throws TableTagNotFound. */
  delete(location: string, name: string): Promise<void>
}

/** The branches of a table besides main. */
export interface TableBranches {
  list(location: string): Promise<ReadonlyMap<string, TableBranch>>
  find(location: string, name: string): Promise<TableBranch | undefined>
  /** Lets a branch begin at a point. The caller has made sure that the name is free. Throws InvalidInput. */
  create(point: TablePoint, name: string): Promise<void>
  /** Deletes a branch with its versions. Throws TableBranchNotFound, and InvalidInput while others come from it. */
  delete(location: string, name: string): Promise<void>
}

/** Tags are files that the engine and its clients share; here they are read, and written by the engine alone. */
export function openTags(parts: EngineContext): TableTags {
  const { storage } = parts
  const tagsOf = async ({ location, branch }: TablePoint) =>
    await (await openTable(parts, { location, branch })).tags()
  return {
    list: (location) => readAll(storage, location, 'tags', tagFile),
    find: (location, name) => readOne(storage, location, 'tags', name, tagFile),
    create: (point, name) => withCatalogErrors(async () => (await tagsOf(point)).create(name, point.version)),
    update: (point, name) => withCatalogErrors(async () => (await tagsOf(point)).update(name, point.version)),
    delete: (location, name) => withCatalogErrors(async () => (await tagsOf({ location })).delete(name)),
  }
}

/** Branches, in the same way as tags. */
export function openBranches(parts: EngineContext): TableBranches {
  const { storage } = parts
  const branchesOf = async (location: string) => await (await openTable(parts, { location })).branches()
  return {
    list: (location) => readAll(storage, location, 'branches', branchFile),
    find: (location, name) => readOne(storage, location, 'branches', name, branchFile),
    create: ({ location, branch, version }, name) =>
      withCatalogErrors(async () => {
        if (storage.isAsciiOnly && /[^ -~]/.test(name)) {
          throw invalidInput('in an object store, the name of a branch has only ASCII characters')
        }
        await (await branchesOf(location)).create(name, branch ?? null, version ?? null)
      }),
    delete: (location, name) =>
      withCatalogErrors(async () => {
        const others = [...(await readAll(storage, location, 'branches', branchFile)).keys()].filter(
          (other) => other !== name,
        )
        // The engine deletes the name first, so what an interruption leaves of a branch has none.
        if ((await readOne(storage, location, 'branches', name, branchFile)) !== undefined) {
          await (await branchesOf(location)).delete(name)
        }
        await clearFolder(storage, location, name, others)
      }),
  }
}

/** The engine leaves the folder of a branch where that of another lies in it; then the name was never free again. */
async function clearFolder(
  storage: Storage,
  location: string,
  name: string,
  others: readonly string[],
): Promise<void> {
  const folder = `${location}/tree/${name}`
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
  const read = await Promise.all(
    names.map(async (name) => [name, await readOne(storage, location, kind, name, schema)] as const),
  )
  return new Map(read.flatMap(([name, contents]) => (contents === undefined ? [] : [[name, contents]])))
}

/** The file of a name holds no slash, so it never lies elsewhere. */
async function readOne<Contents>(
  storage: Storage,
  location: string,
  kind: 'tags' | 'branches',
  name: string,
  schema: z.ZodType<Contents>,
): Promise<Contents | undefined> {
  // A lone surrogate is no text, and cannot be encoded.
  if (/\p{Cs}/u.test(name)) return undefined
  const file = await storage.read(`${location}/_refs/${kind}/${encodeURIComponent(name)}.json`)
  return file && schema.parse(JSON.parse(file.bytes.toString()))
}

function decodeFileName(file: string): string | undefined {
  if (!file.endsWith('.json')) return undefined
  try {
    return decodeURIComponent(file.slice(0, -'.json'.length))
  } catch {
    return undefined
  }
}
