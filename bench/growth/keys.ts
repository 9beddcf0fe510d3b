import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiKeys } from '../../src/identity/api-keys/api-keys.ts'
import { generateApiKey, hashSecret, identifyPepper } from '../../src/identity/api-keys/api-key-format.ts'
import { formatKeyStore } from '../../src/identity/api-keys/key-store-file.ts'
import { createKey, revokeKey } from '../../src/identity/api-keys/key-store.ts'
import { processorCost, type Growth } from './growth.ts'

const pepper = Buffer.alloc(32, 7)
const createdAt = '2026-01-01T00:00:00.000Z'
const runtime = { reloadIntervalMs: 60_000, now: Date.now, report: () => undefined }

/** API keys in one store. */
export const keys: Growth = {
  unit: 'API keys',
  sizes: [1_000, 10_000, 100_000, 1_000_000],
  shortSizes: [5_000, 20_000],
  async measure(size, folder) {
    const file = join(folder, 'keys.yaml')
    const hash = hashSecret(pepper, 'secret').toString('hex')
    const lines = Array.from({ length: size }, (_, index) => {
      const { id } = generateApiKey()
      return {
        id,
        principal: `robot-${index}`,
        groups: ['robots'],
        hash,
        pepper: identifyPepper(pepper),
        createdAt,
      }
    })
    await writeFile(file, formatKeyStore({ head: [], lines }))
    let created = ''
    const open = await processorCost('read at the start', async () => {
      const opened = await openApiKeys({ file, pepper }, undefined, 60_000, runtime)
      await opened.close()
    })
    return [
      open,
      await processorCost('keys create', async () => {
        const { key } = await createKey(file, pepper, { principal: 'new', groups: [] })
        created = key.id
      }),
      await processorCost('keys revoke', () => revokeKey(file, created)),
    ]
  },
}
