// Runs the built gateway with the settings in a file. Resolves in-doubt changes without long delays.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as loading from '../../src/config/gateway-settings.ts'
import type * as start from '../../src/gateway/bootstrap/start-gateway.ts'

const [config = '', gracePeriodMs = ''] = process.argv.slice(2)
const load = (file: string): Promise<unknown> =>
  import(pathToFileURL(join(import.meta.dirname, '../../dist', file)).href)
const { readGatewaySettings } = (await load('config/gateway-settings.js')) as typeof loading
const { startGateway } = (await load('gateway/bootstrap/start-gateway.js')) as typeof start
const gateway = await startGateway({
  settings: await readGatewaySettings(config, process.env),
  tuning: { resolution: { gracePeriodMs: Number(gracePeriodMs) } },
})
process.stdout.write(`listening on ${gateway.url}\nadmin on ${gateway.adminUrl}\n`)
