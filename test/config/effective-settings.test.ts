import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import {
  formatEffectiveSettings,
  readGatewaySettings,
  type GatewaySettings,
} from '../../src/config/gateway-settings.ts'
import { folderWith } from '../policy/source/policy-folder.ts'

const least = {
  upstream: { url: 'https://catalog.example' },
  identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
  policies: { folder: 'policies' },
  audit: { folder: 'audit' },
}
const issuer = { name: 'corp', issuer: 'https://corp.example', audience: 'catalog', algorithms: ['RS256'] }

async function read(text: string, environment: Record<string, string> = {}): Promise<GatewaySettings> {
  return readGatewaySettings(join(await folderWith({ 'gateway.yaml': text }), 'gateway.yaml'), environment)
}

it.for<[what: string, changes: object]>([
  ['the least', {}],
  [
    'more',
    {
      listen: { tls: { certFile: 'gateway.pem', keyFile: 'gateway.key' } },
      upstream: { ...least.upstream, credential: { file: 'credential' }, caFile: 'ca.pem' },
      identity: { issuers: [issuer, { ...issuer, name: 'file', issuer: 'f', jwks: { file: 'keys.json' } }] },
      audit: { folder: '/audit', sinks: [{ name: 'siem', type: 'otlp', url: 'https://siem.example' }] },
      unsafe: ['plain-http-issuer'],
    },
  ],
  [
    'policies from Kubernetes',
    {
      policies: {
        folder: 'policies',
        kubernetes: {
          namespaces: [
            { name: 'catalog-system', platform: true },
            { name: 'team', uid: 'u', catalogNamespaces: [['prod']], subjects: { any: true } },
          ],
        },
      },
    },
  ],
  [
    'several upstreams',
    {
      upstream: undefined,
      upstreams: [
        { name: 'rest', url: 'https://rest.example' },
        { name: 'lake', url: 'https://lake.example', namespaces: [['lake']] },
      ],
    },
  ],
])('printed settings of %s have the same effect when they are read', async ([, changes]) => {
  const settings = await read(stringify({ ...least, ...changes }))
  expect(await read(formatEffectiveSettings(settings, {}))).toEqual(settings)
})

it('a secret is not printed, and its placeholder is refused', async () => {
  const upstream = { ...least.upstream, credential: { value: 'Bearer secret' } }
  const printed = formatEffectiveSettings(await read(stringify({ ...least, upstream })), {})
  expect(printed).not.toContain('Bearer secret')
  await expect(read(printed)).rejects.toThrow(
    /:\d+: upstream\.credential\.value: is a placeholder for a secret; expected the secret, or a file/,
  )
})

it('values from the environment have comments with the variable names', async () => {
  const environment = {
    CATALOG_GATEWAY__LISTEN__PORT: '4444',
    CATALOG_GATEWAY__DIALECTS: '[lance]',
    CATALOG_GATEWAY__UPSTREAM__CREDENTIAL__VALUE: 'Bearer secret',
  }
  const printed = formatEffectiveSettings(await read(stringify(least), environment), environment)
  expect(printed).toContain('port: 4444 # CATALOG_GATEWAY__LISTEN__PORT\n')
  expect(printed).toContain('value: (hidden) # CATALOG_GATEWAY__UPSTREAM__CREDENTIAL__VALUE\n')
  expect(printed).toContain('# CATALOG_GATEWAY__DIALECTS\n')
  expect(parse(printed)).toMatchObject({ listen: { port: 4444 }, dialects: ['lance'] })
})
