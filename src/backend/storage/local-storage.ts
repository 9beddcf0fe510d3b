import { randomUUID } from 'node:crypto'
import { constants, type BigIntStats } from 'node:fs'
import {
  link,
  lstat,
  open,
  opendir,
  readdir,
  realpath,
  rm,
  writeFile,
  type FileHandle,
} from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { invalidInput } from 'catalog-gateway/catalog-api'
import type { FileInfo, LinkOutcome, Storage } from './storage.ts'
import { hasErrorCode, makeFolder, syncFolder } from 'catalog-gateway/lib'

const noOptions = {}

/** Storage in local folders. Does not follow a symbolic link at the end of a name. */
export const localFileStorage: Storage = {
  engineOptions: () => noOptions,
  isAsciiOnly: false,
  toKey: (file) => file.split(path.sep).join('/').replace(/^\/+/, ''),
  parseKey: (spelled) => spelled.replace(/^(file:\/\/)?\/*/, ''),
  toUri: (file) => pathToFileURL(file).href,
  async *list(folder) {
    const names = (await readEntries(folder)).filter((entry) => !entry.isDirectory()).map(({ name }) => name)
    for (const name of names.toSorted()) yield { name, stat: () => statFile(`${folder}/${name}`) }
  },
  listFolders: async (folder) =>
    (await readEntries(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name),
  stat: statFile,
  /** Opens without following links, then checks the opened file. */
  async read(file, limit = Number.POSITIVE_INFINITY) {
    let handle: FileHandle
    try {
      handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    } catch (error) {
      if (isNotFoundError(error) || hasErrorCode(error, 'ENAMETOOLONG')) return undefined
      if (hasErrorCode(error, 'ELOOP')) throw invalidInput('a file of the table is a symbolic link')
      throw error
    }
    try {
      const found = await handle.stat({ bigint: true })
      if (!found.isFile()) throw invalidInput('a file of the table is not a regular file')
      if (found.size > limit) throw invalidInput(`a file of the table has more than ${limit} bytes`)
      return { bytes: await handle.readFile(), eTag: formatETag(found) }
    } finally {
      await handle.close()
    }
  },
  /** The name appears only with the complete file: a hard link to a file written under another name. */
  async create(file, bytes) {
    const written = `${file}-${randomUUID()}`
    await makeFolder(path.dirname(file))
    try {
      await writeFile(written, bytes, { flag: 'wx', flush: true })
      if ((await linkFile(written, file)) !== 'linked') return false
      await syncFolder(path.dirname(file))
      return true
    } finally {
      await rm(written, { force: true })
    }
  },
  link: linkFile,
  makeFolder: (folder) => makeFolder(folder),
  flush: syncFolder,
  remove: (file) => rm(file, { force: true }),
  async removeAll(folder, except = new Set()) {
    if (except.size === 0) return await rm(folder, { recursive: true, force: true })
    for (const { name } of await readEntries(folder)) {
      if (!except.has(name)) await rm(`${folder}/${name}`, { recursive: true, force: true })
    }
  },
  assertNoLinks,
  async assertConfined(root, location) {
    try {
      await assertNoLinks(root, location)
      for await (const entry of await opendir(location, { recursive: true })) {
        if (!entry.isFile() && !entry.isDirectory()) {
          throw invalidInput('the dataset contains something that is neither a file nor a folder')
        }
      }
    } catch (error) {
      if (isNotFoundError(error)) throw invalidInput('there is no such folder', { cause: error })
      throw error
    }
  },
}

async function readEntries(folder: string) {
  return (await readdir(folder, { withFileTypes: true }).catch(ignoreNotFound)) ?? []
}

async function statFile(file: string): Promise<FileInfo | undefined> {
  const found = await lstat(file, { bigint: true }).catch(ignoreNotFound)
  if (!found?.isFile()) return undefined
  return { size: Number(found.size), eTag: formatETag(found), modifiedMillis: Number(found.mtimeMs) }
}

/** In the format of the engine's object-store client: `inode-mtime-size` in hexadecimal digits. */
function formatETag(found: BigIntStats): string {
  return [found.ino, found.mtimeNs / 1000n, found.size].map((number) => number.toString(16)).join('-')
}

/** `link` is atomic, exposes only complete files and never replaces one. */
async function linkFile(from: string, to: string, eTag?: string): Promise<LinkOutcome> {
  try {
    await link(from, to)
    if (eTag === undefined || (await statFile(to))?.eTag === eTag) return 'linked'
    await rm(to)
    return 'changed'
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return 'taken'
    if (hasErrorCode(error, 'ENOENT')) return 'missing'
    throw error
  }
}

/** The location itself may be a link, which is the operator's choice. */
async function assertNoLinks(location: string, folder: string): Promise<void> {
  const expected = path.join(await realpath(location), path.relative(location, folder))
  if ((await realpath(folder)) !== expected) {
    throw invalidInput('a symbolic link beneath the location of the table is not followed')
  }
}

export function isNotFoundError(error: unknown): boolean {
  return hasErrorCode(error, 'ENOENT', 'ENOTDIR')
}

function ignoreNotFound(error: unknown): undefined {
  if (!isNotFoundError(error)) throw error
}
