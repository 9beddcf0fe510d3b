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

/** Where policies lie. What cannot be read there is a PolicyError. */
export interface PolicyLocation {
  /** Where it is, for messages. */
  readonly name: string
  /** Changes with what lies there. */
  stamp(): Promise<string>
  /** Everything that lies there, as it stood at one time. */
  read(): Promise<PolicySnapshot>
}

/** The files of policies, sorted by name. */
interface PolicySnapshot {
  readonly stamp: string
  readonly files: readonly PolicyText[]
}

/** A file of policies. */
export interface PolicyText {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * A folder of policies and its sub-folders, with files as they stood at one time: half of an old state and half of a
 * new one may allow too much, and so may a file that somebody is still writing.
 */
export function createFolderLocation(folder: string): PolicyLocation {
  return {
    name: folder,
    stamp: async () => combineStamps(await listPolicyFiles(folder)),
    async read() {
      for (let attempt = 1; attempt <= 5; attempt++) {
        const found = await listPolicyFiles(folder)
        if (!found.some(({ isRecentlyChanged }) => isRecentlyChanged)) {
          const files = await mapConcurrently(found, async ({ name, path }): Promise<PolicyText> => ({
            name,
            bytes: await withFileErrors(name, () => readFileAsync(path)),
          }))
          const stamp = combineStamps(found)
          if (stamp === combineStamps(await listPolicyFiles(folder))) return { stamp, files }
        }
        await sleep(resolveTimeMs)
      }
      throw new PolicyError([{ file: folder, message: 'keeps changing while it is read' }])
    },
  }
}

/** Of thousands of files it takes half as long as what opens a handle for each. */
const readFileAsync = promisify(readFile)
