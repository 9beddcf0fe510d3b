import { stat as statWithCallback, type BigIntStats, type Dirent } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { PolicyError } from '../language/policy-error.ts'

/** Takes half the time of `stat` of `node:fs/promises`. */
const stat = promisify(statWithCallback)

/**
 * A file is read only if it is unchanged for this long; file system timestamps have a resolution of some milliseconds.
 */
export const resolveTimeMs = 100

export interface PolicyFile {
  /** Relative to the policy folder, separated by `/`. */
  readonly name: string
  /** Real path, with links resolved. */
  readonly path: string
  /** Device and inode number: changes when another file replaces it. */
  readonly inode: string
  /** Whether a link leads to it, as in a mounted ConfigMap: a change replaces the whole file. */
  readonly isLinked: boolean
  /** Changes with the content of the file, or when another file replaces it. */
  readonly stamp: string
  /** Whether the file changed so recently that it may be incomplete or change again without a new stamp. */
  readonly isRecentlyChanged: boolean
}

/**
 * Lists policy files, sorted by name. Links are followed, hidden entries are skipped and each real file is listed once,
 * so a mounted ConfigMap is read once. Throws PolicyError if an entry cannot be read, including a dangling link: it may
 * have held a deny.
 */
export async function listPolicyFiles(folder: string): Promise<readonly PolicyFile[]> {
  const found: PolicyFile[] = []
  const visited = new Set<string>()

  function isNew({ path }: FoundEntry): boolean {
    if (visited.has(path)) return false
    visited.add(path)
    return true
  }

  async function visit(top: FoundEntry): Promise<void> {
    if (!isNew(top)) return
    // Sequential, so that a file with two names is listed under the first.
    for (const entry of await listEntries(top)) {
      const { name, path, status, isLinked } = entry
      // Container runtimes create a folder in place of a missing file that is mounted.
      if (isPolicyFile(name) && !status.isFile())
        throw new PolicyError([{ file: name, message: 'is not a file; expected a policy file by this name' }])
      if (status.isDirectory()) await withFileErrors(name, () => visit(entry))
      else if (status.isFile() && isPolicyFile(name) && isNew(entry)) {
        const inode = `${status.dev}:${status.ino}`
        const isRecentlyChanged = isRecent(status.ctimeMs)
        found.push({ name, path, inode, isLinked, stamp: fileStamp(status), isRecentlyChanged })
      }
    }
  }

  await withFileErrors(folder, async () => {
    const path = await realpath(folder)
    const status = await stat(path, { bigint: true })
    if (!status.isDirectory()) {
      throw new PolicyError([
        { file: folder, message: 'is not a folder; expected a folder of .yaml or .yml files' },
      ])
    }
    await visit({ name: '', path, status, isLinked: false })
  })
  return found.toSorted(byName)
}

/** Lists files that are not read although their names suggest policies, such as backups of editors. */
export async function listIgnoredFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter(({ name }) => /\.(ya?ml|json)/i.test(name) && !isPolicyFile(name))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .filter((path) => !path.split(sep).some((part) => part.startsWith('.')))
    .toSorted()
}

/** Links are candidates whatever their name: their target is not known yet. */
function isCandidateEntry(entry: Dirent): boolean {
  return !entry.name.startsWith('.') && (!entry.isFile() || isPolicyFile(entry.name))
}

function isPolicyFile(name: string): boolean {
  return /\.ya?ml$/i.test(name)
}

interface FoundEntry {
  readonly name: string
  readonly path: string
  readonly status: BigIntStats
  readonly isLinked: boolean
}

async function listEntries({ name, path }: FoundEntry): Promise<readonly FoundEntry[]> {
  const entries = (await readdir(path, { withFileTypes: true })).filter(isCandidateEntry).toSorted(byName)
  return mapConcurrently(entries, (entry) =>
    statEntry(join(path, entry.name), name === '' ? entry.name : `${name}/${entry.name}`, entry),
  )
}

function fileStamp({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
}

async function statEntry(path: string, name: string, entry: Dirent): Promise<FoundEntry> {
  try {
    const isLinked = entry.isSymbolicLink()
    const real = isLinked ? await realpath(path) : path
    return { name, path: real, status: await stat(real, { bigint: true }), isLinked }
  } catch (error) {
    throw createReadError(name, error)
  }
}

/** Concurrency is limited. Results keep the order of the items. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  // After a failure no further item is started.
  const remaining = sharedEntries(items)
  async function runWorker(): Promise<void> {
    for (const [index, item] of remaining) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: concurrency }, runWorker))
  return results
}

const concurrency = 32

/** A generator shared by several loops ends for all of them when one of them exits. */
function* sharedEntries<Item>(items: readonly Item[]): Generator<readonly [number, Item]> {
  yield* items.entries()
}

export function combineStamps(files: readonly PolicyFile[]): string {
  // File names contain no NUL.
  return files.map(({ name, path, stamp }) => `${name}\0${path}\0${stamp}\0`).join('')
}

/** Converts file system errors to a PolicyError that names the file. */
export async function withFileErrors<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw createReadError(file, error)
  }
}

function createReadError(file: string, error: unknown): unknown {
  if (error instanceof PolicyError || !(error instanceof Error && 'code' in error)) return error
  return new PolicyError([{ file, message: `cannot be read (${String(error.code)})` }])
}

function isRecent(milliseconds: bigint): boolean {
  return Math.abs(Date.now() - Number(milliseconds)) < resolveTimeMs
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}
