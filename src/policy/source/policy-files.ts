import { stat as statThen, type BigIntStats, type Dirent } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PolicyError } from '../language/policy-error.ts'

/** Takes half the time of the one of `node:fs/promises`. */
const stat = promisify(statThen)

/** How long a file must be left alone before it is read; the clocks of file systems tick in some milliseconds. */
export const resolveTimeMs = 100

/** A file of policies, as it was found. */
export interface PolicyFile {
  /** Relative to the folder of policies, parts joined by `/`. */
  readonly name: string
  /** Where it really lies, links followed. */
  readonly path: string
  /** Changes with the file's content, or when another file takes its place. */
  readonly stamp: string
  /** Whether it changed so shortly before that it may not be whole, or change again and keep its stamp. */
  readonly isRecentlyChanged: boolean
}

/**
 * The files of policies in a folder and its sub-folders, sorted by name. Links are followed and nothing is found
 * twice, so a mounted ConfigMap is read once: its files are links into a hidden folder, and hidden entries are
 * passed over. Throws PolicyError for what is no folder, and where something cannot be read, a link to nothing too: it
 * may have held a deny.
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
    // One after the other: where two names lead to one file, the first of them is told.
    for (const entry of await listEntries(top)) {
      const { name, path, status } = entry
      if (status.isDirectory()) await withFileErrors(name, () => visit(entry))
      else if (status.isFile() && isPolicyFile(name) && isNew(entry)) {
        found.push({ name, path, stamp: fileStamp(status), isRecentlyChanged: isRecent(status.ctimeMs) })
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
    await visit({ name: '', path, status })
  })
  return found.toSorted(byName)
}

/** All but hidden entries and files that no name makes one of policies; where a link leads is not known yet. */
function isCandidateEntry(entry: Dirent): boolean {
  return !entry.name.startsWith('.') && (!entry.isFile() || isPolicyFile(entry.name))
}

function isPolicyFile(name: string): boolean {
  return name.endsWith('.yaml') || name.endsWith('.yml')
}

interface FoundEntry {
  readonly name: string
  readonly path: string
  readonly status: BigIntStats
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
    const real = entry.isSymbolicLink() ? await realpath(path) : path
    return { name, path: real, status: await stat(real, { bigint: true }) }
  } catch (error) {
    throw createReadError(name, error)
  }
}

/** Does the work on each, waiting for several at a time: thousands of files are mostly waiting. Answers in order. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  // Once the work on one has failed, none is begun any more.
  const left = sharedEntries(items)
  async function workOnSome(): Promise<void> {
    for (const [index, item] of left) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: concurrency }, workOnSome))
  return results
}

const concurrency = 32

/** Ends for all who share it when one of them leaves it. */
function* sharedEntries<Item>(items: readonly Item[]): Generator<readonly [number, Item]> {
  yield* items.entries()
}

/** What a list of files is compared by. */
export function combineStamps(files: readonly PolicyFile[]): string {
  // No name of a file holds a NUL.
  return files.map(({ name, path, stamp }) => `${name}\0${path}\0${stamp}\0`).join('')
}

/** Does what may fail on a file, and answers it with a PolicyError that names the file. */
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
