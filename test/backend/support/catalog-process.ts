import { backendSettingsSchema } from '../../../src/config/backend/backend-settings.ts'
import { startBackend } from '../../../src/backend/server.ts'

// A reference catalog in a process of its own, to be killed: `catalog-process.ts SETTINGS`, in JSON.
const backend = await startBackend(backendSettingsSchema.parse(JSON.parse(process.argv[2] ?? '')))
process.stdout.write(`${backend.url}\n`)
