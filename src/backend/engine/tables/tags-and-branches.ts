import { z } from 'zod'
import { invalidInput } from 'catalog-gateway/catalog-api'
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

/** A tag; without a branch it is on main. */
export type TableTag = Readonly<z.output<typeof tagFile>>

/** Starts at a version of its parent (default: main). `createAt` is in seconds since 1970. */
type TableBranch = Readonly<z.output<typeof branchFile>>

export interface TableTags {
  list(location: string): Promise<ReadonlyMap<string, TableTag>>
  find(location: string, name: string): Promise<TableTag | undefined>
  /** Throws TableTagAlreadyExists, TableVersionNotFound. */
  create(point: VersionPoint, name: string): Promise<void>
  /** Moves an existing tag to another version. Throws TableTagNotFound, TableVersionNotFound. */
  update(point: VersionPoint, name: string): Promise<void>
  /** Throws TableTagNotFound. */
  delete(location: string, name: string): Promise<void>
}

/** The branches of a table except main. */
export interface TableBranches {
  list(location: string): Promise<ReadonlyMap<string, TableBranch>>
  find(location: string, name: string): Promise<TableBranch | undefined>
  /** Creates a branch at a point. The caller has checked that the name is free. Throws InvalidInput. */
  create(point: TablePoint, name: string): Promise<void>
  /** Throws TableBranchNotFound, and InvalidInput if other branches depend on it. */
  delete(location: string, name: string): Promise<void>
}

/** Tags are files shared by the engine and its clients; they are read here but written only by the engine. */
export function openTags(context: EngineContext): TableTags {
  const { storage } = context
  const openNativeTags = async ({ location, branch }: TablePoint) =>
    await (await openTable(context, { location, branch })).tags()
  return {
    list: (location) => readAll(storage, location, 'tags', tagFile),
    find: (location, name) => readOne(storage, location, 'tags', name, tagFile),
    create: (point, name) =>
      withCatalogErrors(async () => (await openNativeTags(point)).create(name, point.version)),
    update: (point, name) =>
      withCatalogErrors(async () => (await openNativeTags(point)).update(name, point.version)),
    delete: (location, name) =>
      withCatalogErrors(async () => (await openNativeTags({ location })).delete(name)),
  }
}

export function openBranches(context: EngineContext): TableBranches {
  const { storage } = context
  const openNativeBranches = async (location: string) =>
    await (await openTable(context, { location })).branches()
  return {
    list: (location) => readAll(storage, location, 'branches', branchFile),
    find: (location, name) => readOne(storage, location, 'branches', name, branchFile),
    create: ({ location, branch, version }, name) =>
      withCatalogErrors(async () => {
        if (storage.isAsciiOnly && /[^ -~]/.test(name)) {
          throw invalidInput('in an object store, the name of a branch has only ASCII characters')
        }
        await (await openNativeBranches(location)).create(name, branch ?? null, version ?? null)
      }),
    delete: (location, name) =>
      withCatalogErrors(async () => {
        const others = [...(await readAll(storage, location, 'branches', branchFile)).keys()].filter(
          (other) => other !== name,
        )
        // The engine deletes the name first, so the rest of an interrupted deletion has no name.
        if ((await readOne(storage, location, 'branches', name, branchFile)) !== undefined) {
          await (await openNativeBranches(location)).delete(name)
        }
        await removeBranchFolder(storage, location, name, others)
      }),
  }
}

/** The engine leaves the folder of a branch that contains the folder of another, which would block the name forever. */
async function removeBranchFolder(
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
