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

  async function visit(path: string, name: string): Promise<void> {
    if (visited.has(path)) return
    visited.add(path)
    const status = await stat(path, { bigint: true })
    if (status.isDirectory()) {
      for (const entry of (await readdir(path, { withFileTypes: true })).toSorted(byName)) {
        if (entry.name.startsWith('.')) continue
        const inner = join(path, entry.name)
        const innerName = name === '' ? entry.name : `${name}/${entry.name}`
        await named(innerName, async () =>
          visit(entry.isSymbolicLink() ? await realpath(inner) : inner, innerName),
        )
      }
    } else if (status.isFile() && /\.ya?ml$/.test(name)) {
      const { dev, ino, size, mtimeNs, ctimeNs } = status
      const stamp = [dev, ino, size, mtimeNs, ctimeNs].join(':')
      found.push({ name, path, stamp, isJustChanged: isJustNow(status.ctimeMs) })
    }
  }

  await named(folder, async () => visit(await realpath(folder), ''))
  return found.toSorted(byName)
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
