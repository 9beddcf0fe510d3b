import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
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
  let latest: readonly StoredKey[] = []

  /** Skips keys that newer ones have replaced before their turn. */
  async function write(keys: readonly StoredKey[]): Promise<void> {
    if (keys !== latest) return
    await writeAtomically(file, await runInSlices(formatKeys(keys)))
    if (keys === latest) latest = []
  }

  return {
    async read() {
      const text = await readFile(file, 'utf8').catch(ignoreMissing)
      return text === undefined ? undefined : checkStoredKeys(JSON.parse(text))
    },
    save(keys) {
      latest = keys
      writing = writing.then(() => write(keys)).catch(onError)
    },
    close: () => writing,
  }
}

function* formatKeys(keys: readonly StoredKey[]): Steps<string> {
  const texts: string[] = []
  for (const key of keys) {
    texts.push(JSON.stringify(withoutHash(key)))
    yield
  }
  return `{"keys":[${texts.join(',')}]}\n`
}

/** Replaces the hash by its digest and omits the description, so that the key can be compared with a recorded one. */
export function withoutHash({ hash, ...key }: StoredKey): StoredKey {
  return {
    ...key,
    description: undefined,
    hash: createHash('sha256').update(hash, 'hex').digest('hex'),
  }
}
