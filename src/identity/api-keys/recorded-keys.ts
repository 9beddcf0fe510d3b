import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import { checkStoredKeys } from './key-store-file.ts'
import type { StoredKey } from './stored-key.ts'

/** The keys whose changes have been recorded, in a file: a start finds in it what changed while no gateway ran. */
export interface RecordedKeys {
  /** Undefined if there is no file. */
  read(): Promise<readonly StoredKey[] | undefined>
  /** Writes the file after those writes that have started. Failures are reported. */
  save(keys: readonly StoredKey[]): void
  /** Waits for the writes. */
  close(): Promise<void>
}

/** The file has the format of a key store, without descriptions and with digests of the hashes: it verifies no key. */
export function openRecordedKeys(file: string, onError: (cause: unknown) => void): RecordedKeys {
  let writing = Promise.resolve()
  return {
    async read() {
      const text = await readFile(file, 'utf8').catch(ignoreMissing)
      return text === undefined ? undefined : checkStoredKeys(JSON.parse(text))
    },
    save(keys) {
      const text = `${JSON.stringify({ keys: withoutHashes(keys) })}\n`
      writing = writing.then(() => writeAtomically(file, text)).catch(onError)
    },
    close: () => writing,
  }
}

/** Replaces hashes by their digests and omits descriptions, so that keys can be compared with recorded ones. */
export function withoutHashes(keys: readonly StoredKey[]): readonly StoredKey[] {
  return keys.map(({ hash, ...key }) => ({
    ...key,
    description: undefined,
    hash: createHash('sha256').update(hash, 'hex').digest('hex'),
  }))
}
