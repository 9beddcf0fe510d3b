import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'

const persistedJwksSchema = z.strictObject({
  issuer: z.string(),
  fetchedAt: z.iso.datetime(),
  keys: z.string(),
})

/** The text of a key set, and when it was had from its issuer, in milliseconds. */
interface FetchedJwks {
  readonly text: string
  readonly fetchedAt: number
}

/** The last good keys of one issuer on disk: for a start at a time when the issuer cannot be reached. */
export interface JwksFile {
  /** The keys; undefined if there are none of this issuer. Throws if they cannot be read. */
  read(): Promise<FetchedJwks | undefined>
  write(fetched: FetchedJwks): Promise<void>
}

/** Keys in a folder that must be there; whoever can write to it can make tokens. */
export function createJwksFile(folder: string, name: string, issuer: string): JwksFile {
  const file = join(folder, `${name}.keys.json`)
  return {
    async read() {
      const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      })
      if (text === undefined) return undefined
      const retained = persistedJwksSchema.parse(JSON.parse(text))
      // The configuration may have changed since.
      if (retained.issuer !== issuer) return undefined
      return { text: retained.keys, fetchedAt: Date.parse(retained.fetchedAt) }
    },
    async write({ text, fetchedAt }) {
      const retained = { issuer, fetchedAt: new Date(fetchedAt).toISOString(), keys: text }
      await writeAtomically(file, `${JSON.stringify(retained)}\n`)
    },
  }
}
