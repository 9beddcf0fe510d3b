import { backendSettingsSchema } from '../../src/backend/configuration.ts'
import { startBackend } from '../../src/backend/server.ts'

// A reference catalog in a process of its own, to be killed: `catalog-process.ts DATA_FOLDER`.
const backend = await startBackend(
  backendSettingsSchema.parse({
    listen: { port: 0 },
    log: { level: 'error' },
    data: { folder: process.argv[2] },
  }),
)
process.stdout.write(`${backend.url}\n`)
