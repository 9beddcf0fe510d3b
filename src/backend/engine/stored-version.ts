import type { BigIntStats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import type { StoredVersion } from './engine.ts'
import { parseManifestName } from './manifest-names.ts'
import { storageKey } from './versions-folder.ts'

/** The version that a manifest file stands for; undefined when the file is not there or is no manifest. */
export async function storedVersion(file: string): Promise<StoredVersion | undefined> {
  const name = parseManifestName(path.basename(file))
  const found = name && (await statFile(file))
  if (!name || !found?.isFile()) return undefined
  return {
    ...name,
    manifestPath: storageKey(file),
    manifestSize: Number(found.size),
    eTag: eTagOf(found),
    timestampMillis: Number(found.mtimeMs),
  }
}

/** The entity tag of a file, as the object-store client of the engine makes it for local files. */
export function eTagOf(found: BigIntStats): string {
  return [found.ino, found.mtimeNs / 1000n, found.size].map((number) => number.toString(16)).join('-')
}

/** True for an error of the file system with that code: `ENOENT`. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** The bytes of a file, or undefined when it is not there. */
export async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined
    throw error
  }
}

async function statFile(file: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(file, { bigint: true })
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined
    throw error
  }
}
