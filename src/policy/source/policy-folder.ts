import type { Dirent } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isWithin } from '../../lib/index.ts'
import { PolicyError } from '../language/policy-document.ts'

export type PolicyFolder = ReturnType<typeof namePolicyFolders>[number]

/**
 * Names the files of a folder by their path in it, those of several by their path in the folder around all of these: `prefix`,
 * which is empty or ends with `/`, is before their names.
 */
export function namePolicyFolders(paths: readonly string[]) {
  const absolute = paths.map((path) => resolve(path))
  let around = absolute[0] ?? ''
  while (!absolute.every((path) => isWithin(path, around))) around = dirname(around)
  return paths.map((path) => {
    const inside = relative(around, resolve(path))
    return { path, prefix: inside === '' ? '' : `${inside.replaceAll(sep, '/')}/` }
  })
}

/** The content of a policy file, or the text of a resource. */
export interface PolicyText {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * Reads the files of a folder, sorted by name. Resolves only if no file changed meanwhile: a mix of old and new files, or a
 * half-written file, may allow too much. Throws PolicyError.
 */
export async function readPolicyFolder(folder: PolicyFolder): Promise<readonly PolicyText[]> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const files = await listPolicyFiles(folder)
    if (!files.some(isRecentlyChanged)) {
      const texts: PolicyText[] = []
      for (const { name, path } of files)
        texts.push({ name, bytes: await withFileErrors(name, () => readFile(path)) })
      if (stampFiles(files) === stampFiles(await listPolicyFiles(folder))) return texts
    }
    await sleep(resolveTimeMs)
  }
  throw createFileError(folder.path, 'keeps changing while it is read')
}

/** Returns a text that changes with the content of each file, and when another file replaces it. */
export function stampFiles(files: readonly PolicyFile[]): string {
  return JSON.stringify(
    files.map(({ name, path, status: { dev, ino, size, mtimeNs, ctimeNs } }) =>
      [name, path, dev, ino, size, mtimeNs, ctimeNs].map(String),
    ),
  )
}

/** A file is read only if it is unchanged for this long: timestamps of files have a resolution of some milliseconds. */
export const resolveTimeMs = 100

/** Whether it may be incomplete, or change again without a new stamp. */
function isRecentlyChanged({ status }: PolicyFile): boolean {
  return Math.abs(Date.now() - Number(status.ctimeMs)) < resolveTimeMs
}

type PolicyFile = Awaited<ReturnType<typeof statFile>>

/**
 * Lists policy files, sorted by name. Links are followed, hidden entries are skipped and each real file is listed once,
 * so a mounted ConfigMap is read once. Throws PolicyError if an entry cannot be read, including a dangling link: it may
 * have held a deny.
 */
export async function listPolicyFiles({
  path: folder,
  prefix,
}: PolicyFolder): Promise<readonly PolicyFile[]> {
  const files: PolicyFile[] = []
  const visited = new Set<string>()

  async function visit(top: string, namePrefix: string): Promise<void> {
    if (visited.has(top)) return
    visited.add(top)
    const entries = (await readdir(top, { withFileTypes: true })).filter(isCandidateEntry).toSorted(byName)
    const found = await Promise.all(
      entries.map((entry) => statFile(join(top, entry.name), namePrefix + entry.name, entry)),
    )
    // Sequential, so that a file with two names is listed under the first.
    for (const file of found) {
      const { name, path, status } = file
      if (isPolicyFile(name)) {
        // Container runtimes create a folder in place of a missing file that is mounted.
        if (!status.isFile())
          throw createFileError(name, 'is not a file; expected a policy file by this name')
        if (!visited.has(path)) files.push(file)
        visited.add(path)
      } else if (status.isDirectory()) await withFileErrors(name, () => visit(path, `${name}/`))
    }
  }

  const { path, status } = await statFile(folder, folder)
  if (!status.isDirectory())
    throw createFileError(folder, 'is not a folder; expected a folder of .yaml or .yml files')
  await withFileErrors(folder, () => visit(path, prefix))
  return files.toSorted(byName)
}

/** Links of any name are candidates: their target is not known yet. */
function isCandidateEntry(entry: Dirent): boolean {
  return !entry.name.startsWith('.') && (!entry.isFile() || isPolicyFile(entry.name))
}

function isPolicyFile(name: string): boolean {
  return /\.ya?ml$/i.test(name)
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}

/** `name` is that of `namePolicyFolders`. The path is resolved, without links. */
function statFile(path: string, name: string, entry?: Dirent) {
  return withFileErrors(name, async () => {
    const real = entry?.isSymbolicLink() === false ? path : await realpath(path)
    return { name, path: real, status: await stat(real, { bigint: true }) }
  })
}

async function withFileErrors<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PolicyError || !(error instanceof Error && 'code' in error)) throw error
    throw createFileError(file, `cannot be read (${String(error.code)})`)
  }
}

export function createFileError(file: string, message: string): PolicyError {
  return new PolicyError([{ file, message }])
}

/** Lists files that are not read although their names suggest policies, such as backups of editors. */
export async function listIgnoredFiles(paths: readonly string[]): Promise<readonly string[]> {
  const ofFolders = namePolicyFolders(paths).map(async ({ path, prefix }) => {
    const names = (await readdir(path, { recursive: true })).map((name) => name.replaceAll(sep, '/'))
    return names
      .filter((name) => /\.(ya?ml|json)[^/]*$/i.test(name) && !isPolicyFile(name) && !/(^|\/)\./.test(name))
      .toSorted()
      .map((name) => prefix + name)
  })
  return (await Promise.all(ofFolders)).flat()
}
