import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'

const persistedJwksSchema = z.strictObject({
  issuer: z.string(),
  fetchedAt: z.iso.datetime(),
  keys: z.string(),
})

/** Text of a JWKS, and when it was fetched, in milliseconds. */
interface FetchedJwks {
  readonly text: string
  readonly fetchedAt: number
}

/** The last valid JWKS of one issuer on disk, for a start while the issuer is unreachable. */
export interface JwksFile {
  /** Returns undefined if there is no JWKS of this issuer. Rejects if it cannot be read. */
  read(): Promise<FetchedJwks | undefined>
  write(fetched: FetchedJwks): Promise<void>
}

/** Creates the JWKS file in an existing folder. Write access to the folder permits forging tokens. */
export function createJwksFile(folder: string, name: string, issuer: string): JwksFile {
  const file = join(folder, `${name}.keys.json`)
  return {
    async read() {
      const text = await readFile(file, 'utf8').catch(ignoreMissing)
      if (text === undefined) return undefined
      const persisted = persistedJwksSchema.parse(JSON.parse(text))
      // The configuration may have changed since the file was written.
      if (persisted.issuer !== issuer) return undefined
      return { text: persisted.keys, fetchedAt: Date.parse(persisted.fetchedAt) }
    },
    async write({ text, fetchedAt }) {
      const persisted = { issuer, fetchedAt: new Date(fetchedAt).toISOString(), keys: text }
      await writeAtomically(file, `${JSON.stringify(persisted)}\n`)
    },
  }
}
