import { join } from 'node:path'
import { stringify } from 'yaml'
import { readGatewaySettings, type GatewaySettings } from '../../src/config/gateway-settings.ts'
import { folderWith } from '../policy/source/policy-folder.ts'

/** The least that a gateway needs. */
const leastSettings = {
  upstream: { url: 'https://catalog.example' },
  identity: { anonymous: true },
  policies: { folder: 'policies' },
  audit: { folder: 'audit' },
}

/** Reads a file with the least settings, and these sections in their place. */
export async function readChanged(
  changes: object,
  environment: Readonly<Record<string, string>> = {},
): Promise<GatewaySettings> {
  const folder = await folderWith({ 'gateway.yaml': stringify({ ...leastSettings, ...changes }) })
  return readGatewaySettings(join(folder, 'gateway.yaml'), environment)
}
