import { readFile, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { TablePoint, VersionPoint } from './engine.ts'
import { guarded } from './errors.ts'
import { openTable, type EngineParts } from './open-table.ts'
import { hasErrorCode } from './stored-version.ts'
import { refuseLinks } from './versions-folder.ts'

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
  /** Lets a branch begin at a point. The caller has made sure that the name is free. */
  create(point: TablePoint, name: string): Promise<void>
  /** Deletes a branch with its versions. Throws TableBranchNotFound, and InvalidInput while others come from it. */
  delete(location: string, name: string): Promise<void>
}

/** Tags are files that the engine and its clients share; here they are read, and written by the engine alone. */
export function openTags(parts: EngineParts): TableTags {
  const tagsOf = async ({ location, branch }: TablePoint) =>
    await (await openTable(parts, { location, branch })).tags()
  return {
    list: (location) => readAll(location, 'tags', tagFile),
    find: (location, name) => readOne(location, 'tags', name, tagFile),
    create: (point, name) => guarded(async () => (await tagsOf(point)).create(name, point.version)),
    update: (point, name) => guarded(async () => (await tagsOf(point)).update(name, point.version)),
    delete: (location, name) => guarded(async () => (await tagsOf({ location })).delete(name)),
  }
}

/** Branches, in the same way as tags. */
export function openBranches(parts: EngineParts): TableBranches {
  const branchesOf = async (location: string) => await (await openTable(parts, { location })).branches()
  return {
    list: listBranches,
    find: (location, name) => readOne(location, 'branches', name, branchFile),
    create: ({ location, branch, version }, name) =>
      guarded(async () => {
        await (await branchesOf(location)).create(name, branch ?? null, version ?? null)
      }),
    delete: (location, name) =>
      guarded(async () => {
        const others = [...(await listBranches(location)).keys()].filter((other) => other !== name)
        // The engine deletes the name first, so what an interruption leaves of a branch has none.
        if ((await readOne(location, 'branches', name, branchFile)) !== undefined) {
          await (await branchesOf(location)).delete(name)
        }
        await clearFolder(location, name, others)
      }),
  }
}

async function listBranches(location: string): Promise<ReadonlyMap<string, TableBranch>> {
  return await readAll(location, 'branches', branchFile)
}

/** The engine leaves the folder of a branch where that of another lies in it; then the name was never free again. */
async function clearFolder(location: string, name: string, others: readonly string[]): Promise<void> {
  const folder = path.join(location, 'tree', ...name.split('/'))
  const below = others.filter((other) => other.startsWith(`${name}/`))
  const kept = new Set(below.map((other) => other.slice(name.length + 1).split('/')[0]))
  const entries = await namesIn(folder)
  if (entries.length > 0) await refuseLinks(location, folder)
  for (const entry of entries) {
    if (!kept.has(entry)) await rm(path.join(folder, entry), { recursive: true, force: true })
  }
}

async function readAll<Contents>(
  location: string,
  kind: 'tags' | 'branches',
  schema: z.ZodType<Contents>,
): Promise<ReadonlyMap<string, Contents>> {
  const files = await namesIn(path.join(location, '_refs', kind))
  const names = files.flatMap((file) => nameOf(file) ?? [])
  const read = await Promise.all(
    names.map(async (name) => [name, await readOne(location, kind, name, schema)] as const),
  )
  return new Map(read.flatMap(([name, contents]) => (contents === undefined ? [] : [[name, contents]])))
}

/** The file of a name holds no slash, so it never lies elsewhere. */
async function readOne<Contents>(
  location: string,
  kind: 'tags' | 'branches',
  name: string,
  schema: z.ZodType<Contents>,
): Promise<Contents | undefined> {
  // A lone surrogate is no text, and cannot be encoded.
  if (/\p{Cs}/u.test(name)) return undefined
  const file = path.join(location, '_refs', kind, `${encodeURIComponent(name)}.json`)
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT') || hasErrorCode(error, 'ENAMETOOLONG')) return undefined
    throw error
  }
}

function nameOf(file: string): string | undefined {
  if (!file.endsWith('.json')) return undefined
  try {
    return decodeURIComponent(file.slice(0, -'.json'.length))
  } catch {
    return undefined
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return []
    throw error
  }
}
