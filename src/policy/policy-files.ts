import type { BigIntStats, Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PolicyError } from './policy-error.ts'

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
 * passed over. Throws PolicyError where something cannot be read, a link to nothing too: it may have held a deny.
 */
export async function listPolicyFiles(folder: string): Promise<readonly PolicyFile[]> {
  const found: PolicyFile[] = []
  const visited = new Set<string>()

  async function visit({ name, path, status }: FoundEntry): Promise<void> {
    if (visited.has(path)) return
    visited.add(path)
    if (status.isDirectory()) {
      const entries = (await readdir(path, { withFileTypes: true })).filter(
        ({ name }) => !name.startsWith('.'),
      )
      const inner = await someAtATime(entries.toSorted(byName), (entry) =>
        entryAt(join(path, entry.name), name === '' ? entry.name : `${name}/${entry.name}`, entry),
      )
      // One after the other: where two names lead to one file, the first of them is told.
      for (const entry of inner) await named(entry.name, () => visit(entry))
    } else if (status.isFile() && /\.ya?ml$/.test(name)) {
      const { dev, ino, size, mtimeNs, ctimeNs } = status
      const stamp = [dev, ino, size, mtimeNs, ctimeNs].join(':')
      found.push({ name, path, stamp, isJustChanged: isJustNow(status.ctimeMs) })
    }
  }

  await named(folder, async () => {
    const path = await realpath(folder)
    await visit({ name: '', path, status: await stat(path, { bigint: true }) })
  })
  return found.toSorted(byName)
}

interface FoundEntry {
  readonly name: string
  readonly path: string
  readonly status: BigIntStats
}

async function entryAt(path: string, name: string, entry: Dirent): Promise<FoundEntry> {
  return named(name, async () => {
    const real = entry.isSymbolicLink() ? await realpath(path) : path
    return { name, path: real, status: await stat(real, { bigint: true }) }
  })
}

/** Does the work on each, in their order, waiting for several at a time: thousands of files are mostly waiting. */
export async function someAtATime<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let first = 0; first < items.length; first += 32) {
    results.push(...(await Promise.all(items.slice(first, first + 32).map(work))))
  }
  return results
}

/** What a list of files is compared by. */
export function stampOf(files: readonly PolicyFile[]): string {
  return files.map(({ name, path, stamp }) => JSON.stringify([name, path, stamp])).join('\n')
}

/** Does what may fail on a file, and answers it with a PolicyError that names the file. */
export async function named<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PolicyError || !(error instanceof Error && 'code' in error)) throw error
    throw new PolicyError([{ file, message: `cannot be read (${String(error.code)})` }])
  }
}

function isJustNow(milliseconds: bigint): boolean {
  return Math.abs(Date.now() - Number(milliseconds)) < settlingMs
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}
