import { backendSettingsSchema } from '../../settings/backend-settings.ts'
import { startBackend } from '../../server.ts'

// Usage: `catalog-process.ts SETTINGS` (JSON). Runs a bundled catalog as a process that tests can stop and kill.
const backend = await startBackend(backendSettingsSchema.parse(JSON.parse(process.argv[2] ?? '')))
process.stdout.write(`${backend.url}\n`)
process.once('SIGTERM', () => void backend.close().then(() => process.exit()))
