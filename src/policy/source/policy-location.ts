import { readFile } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { PolicyError } from '../language/policy-error.ts'
import {
  listPolicyFiles,
  withFileErrors,
  resolveTimeMs,
  mapConcurrently,
  combineStamps,
} from './policy-files.ts'

/** Methods reject with PolicyError. */
export interface PolicyLocation {
  readonly name: string
  stamp(): Promise<string>
  read(): Promise<PolicySnapshot>
}

/** The files are sorted by name. */
interface PolicySnapshot {
  readonly stamp: string
  readonly files: readonly PolicyText[]
}

export interface PolicyText {
  readonly name: string
  readonly bytes: Uint8Array
  /** Changes when another file replaces it; undefined if it is not a file of its own. */
  readonly inode?: string
  /** Whether a change replaces the whole file. */
  readonly isLinked?: boolean
}

/**
 * Reads a folder and its subfolders. A snapshot is returned only if no file changed meanwhile: a mix of old and new
 * files, or a half-written file, may allow too much.
 */
export function createFolderLocation(folder: string): PolicyLocation {
  return {
    name: folder,
    stamp: async () => combineStamps(await listPolicyFiles(folder)),
    async read() {
      for (let attempt = 1; attempt <= 5; attempt++) {
        const found = await listPolicyFiles(folder)
        if (!found.some(({ isRecentlyChanged }) => isRecentlyChanged)) {
          const files = await mapConcurrently(
            found,
            async ({ name, path, inode, isLinked }): Promise<PolicyText> => ({
              name,
              inode,
              isLinked,
              bytes: await withFileErrors(name, () => readFileAsync(path)),
            }),
          )
          const stamp = combineStamps(found)
          if (stamp === combineStamps(await listPolicyFiles(folder))) return { stamp, files }
        }
        await sleep(resolveTimeMs)
      }
      throw new PolicyError([{ file: folder, message: 'keeps changing while it is read' }])
    },
  }
}

/** Takes half the time of `readFile` of `node:fs/promises`. */
const readFileAsync = promisify(readFile)
