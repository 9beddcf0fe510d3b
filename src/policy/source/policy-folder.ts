import * as fs from 'node:fs'
import type { BigIntStats, Dirent } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isWithin } from '../../lib/fs/is-within.ts'
import { PolicyError } from '../language/policy-error.ts'
import type { PolicyText } from './parse-policy-files.ts'

/** Take half the time of those of `node:fs/promises`. */
const [stat, readFile] = [promisify(fs.stat), promisify(fs.readFile)]

/** A folder of policies with its subfolders. */
export interface PolicyFolder {
  readonly path: string
  /** Before the names of its files; empty or ends with `/`. */
  readonly prefix: string
}

/** Names the files of a folder by their path in it, those of several by their path in the folder around all of these. */
export function namePolicyFolders(paths: readonly string[]): readonly PolicyFolder[] {
  const absolute = paths.map((path) => resolve(path))
  let around = absolute[0] ?? ''
  while (!absolute.every((path) => isWithin(path, around))) around = dirname(around)
  return paths.map((path) => {
    const inside = relative(around, resolve(path))
    return { path, prefix: inside === '' ? '' : `${inside.replaceAll(sep, '/')}/` }
  })
}

/**
 * Reads the files of a folder, sorted by name. Resolves only if no file changed meanwhile: a mix of old and new files, or a
 * half-written file, may allow too much. Throws PolicyError.
 */
export async function readPolicyFolder(folder: PolicyFolder): Promise<readonly PolicyText[]> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const found = await listPolicyFiles(folder)
    if (!found.some(({ isRecentlyChanged }) => isRecentlyChanged)) {
      const files: PolicyText[] = []
      for (const { name, path } of found)
        files.push({ name, bytes: await withFileErrors(name, () => readFile(path)) })
      if (combineStamps(found) === (await stampPolicyFolder(folder))) return files
    }
    await sleep(resolveTimeMs)
  }
  throw new PolicyError([{ file: folder.path, message: 'keeps changing while it is read' }])
}

/** Resolves with a text that changes with every change of the files. Throws PolicyError. */
export async function stampPolicyFolder(folder: PolicyFolder): Promise<string> {
  return combineStamps(await listPolicyFiles(folder))
}

/**
 * A file is read only if it is unchanged for this long; file system timestamps have a resolution of some milliseconds.
 */
export const resolveTimeMs = 100

interface PolicyFile {
  /** See `namePolicyFolders`; separated by `/`. */
  readonly name: string
  /** Real path, with links resolved. */
  readonly path: string
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
export async function listPolicyFiles({
  path: folder,
  prefix,
}: PolicyFolder): Promise<readonly PolicyFile[]> {
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
      const { name, path, status } = entry
      // Container runtimes create a folder in place of a missing file that is mounted.
      if (isPolicyFile(name) && !status.isFile())
        throw new PolicyError([{ file: name, message: 'is not a file; expected a policy file by this name' }])
      if (status.isDirectory()) await withFileErrors(name, () => visit({ ...entry, name: `${name}/` }))
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
    await visit({ name: prefix, path, status })
  })
  return found.toSorted(byName)
}

/** Lists files that are not read although their names suggest policies, such as backups of editors. */
export async function listIgnoredFiles({ path: folder, prefix }: PolicyFolder): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter(({ name }) => /\.(ya?ml|json)/i.test(name) && !isPolicyFile(name))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .filter((path) => !path.split(sep).some((part) => part.startsWith('.')))
    .map((path) => prefix + path)
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
  /** Ends with `/` if its entries are listed. */
  readonly name: string
  readonly path: string
  readonly status: BigIntStats
}

async function listEntries({ name: prefix, path }: FoundEntry): Promise<readonly FoundEntry[]> {
  const entries = (await readdir(path, { withFileTypes: true })).filter(isCandidateEntry).toSorted(byName)
  return Promise.all(entries.map((entry) => statEntry(join(path, entry.name), prefix + entry.name, entry)))
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

function combineStamps(files: readonly PolicyFile[]): string {
  // File names contain no NUL.
  return files.map(({ name, path, stamp }) => `${name}\0${path}\0${stamp}\0`).join('')
}

/** Converts file system errors to a PolicyError that names the file. */
async function withFileErrors<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
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
