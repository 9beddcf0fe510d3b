// Runs the built gateway with the settings in a file. Resolves in-doubt changes without long delays.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as start from '../../src/gateway/bootstrap/start-gateway.ts'
import { readGatewaySettings } from '../../src/config/gateway-settings.ts'
import { projectFolder } from './built-program.ts'

const [config = '', settleTimeMs = ''] = process.argv.slice(2)
const { href } = pathToFileURL(join(projectFolder, 'dist/gateway/bootstrap/start-gateway.js'))
const { startGateway } = (await import(href)) as typeof start
const settings = await readGatewaySettings(config, process.env)
const gateway = await startGateway({
  settings,
  tuning: { resolution: { settleTimeMs: Number(settleTimeMs) } },
})
process.stdout.write(`listening on ${gateway.url}\nadmin on ${gateway.adminUrl}\n`)
