import { stat as statThen, type BigIntStats, type Dirent } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PolicyError } from './policy-error.ts'

/** Takes half the time of the one of `node:fs/promises`. */
const stat = promisify(statThen)

/** How long a file must be left alone before it is read; the clocks of file systems tick in some milliseconds. */
export const settlingMs = 100

/** A file of policies, as it was found. */
export interface PolicyFile {
  /** Relative to the folder of policies, parts joined by `/`. */
  readonly name: string
  /** Where it really lies, links followed. */
  readonly path: string
  /** Changes with the file's content, or when another file takes its place. */
  readonly stamp: string
  /** Whether it changed so shortly before that it may not be whole, or change again and keep its stamp. */
  readonly isJustChanged: boolean
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
    for (const entry of await entriesOf(top)) {
      const { name, path, status } = entry
      if (status.isDirectory()) await named(name, () => visit(entry))
      else if (status.isFile() && isPolicyFile(name) && isNew(entry)) {
        found.push({ name, path, stamp: stampOfFile(status), isJustChanged: isJustNow(status.ctimeMs) })
      }
    }
  }

  await named(folder, async () => {
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
function mayHoldPolicies(entry: Dirent): boolean {
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

async function entriesOf({ name, path }: FoundEntry): Promise<readonly FoundEntry[]> {
  const entries = (await readdir(path, { withFileTypes: true })).filter(mayHoldPolicies).toSorted(byName)
  return someAtATime(entries, (entry) =>
    entryAt(join(path, entry.name), name === '' ? entry.name : `${name}/${entry.name}`, entry),
  )
}

function stampOfFile({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
}

async function entryAt(path: string, name: string, entry: Dirent): Promise<FoundEntry> {
  try {
    const real = entry.isSymbolicLink() ? await realpath(path) : path
    return { name, path: real, status: await stat(real, { bigint: true }) }
  } catch (error) {
    throw unreadable(name, error)
  }
}

/** Does the work on each, waiting for several at a time: thousands of files are mostly waiting. Answers in order. */
export async function someAtATime<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  // Once the work on one has failed, none is begun any more.
  const left = inTurn(items)
  async function workOnSome(): Promise<void> {
    for (const [index, item] of left) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: atATime }, workOnSome))
  return results
}

const atATime = 32

/** Ends for all who share it when one of them leaves it. */
function* inTurn<Item>(items: readonly Item[]): Generator<readonly [number, Item]> {
  yield* items.entries()
}

/** What a list of files is compared by. */
export function stampOf(files: readonly PolicyFile[]): string {
  // No name of a file holds a NUL.
  return files.map(({ name, path, stamp }) => `${name}\0${path}\0${stamp}\0`).join('')
}

/** Does what may fail on a file, and answers it with a PolicyError that names the file. */
export async function named<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): unknown {
  if (error instanceof PolicyError || !(error instanceof Error && 'code' in error)) return error
  return new PolicyError([{ file, message: `cannot be read (${String(error.code)})` }])
}

function isJustNow(milliseconds: bigint): boolean {
  return Math.abs(Date.now() - Number(milliseconds)) < settlingMs
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}
