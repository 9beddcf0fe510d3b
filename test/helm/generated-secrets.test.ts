import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { render, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'
import { renderInCluster } from './api-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function secretsOf(values: object): Promise<Readonly<Record<string, unknown>>> {
  const file = join(await temporaryFolder(), 'values.yaml')
  await writeFile(file, stringify(values))
  const secrets = (await render(['--values', file])).filter(isGenerated)
  return Object.fromEntries(secrets.map(({ metadata, ...rest }) => [metadata.name, rest]))
}

/** Excludes what the check uses in place of them. */
function isGenerated({ kind, metadata }: Manifest): boolean {
  return kind === 'Secret' && !metadata.name.endsWith('-check')
}

const bootstrapKey = 'release-catalog-gateway-bootstrap-key'
const catalogToken = 'release-catalog-gateway-catalog-token'
const random = { immutable: true, data: expect.objectContaining({}) }

it.skipIf(helms.length === 0)('secrets are random, and cannot be changed', async () => {
  const one = await secretsOf({})
  expect(one).toEqual({
    [bootstrapKey]: expect.objectContaining(random),
    [catalogToken]: expect.objectContaining(random),
  })
  const other = await secretsOf({})
  for (const name of [bootstrapKey, catalogToken]) expect(other[name]).not.toEqual(one[name])
})

const identity = {
  issuers: [{ name: 'corp', issuer: 'https://login.example', audience: 'x', algorithms: ['RS256'] }],
}
const policies = { inline: { 'everybody.yaml': 'apiVersion: catalog-gateway/v1' } }

it.skipIf(helms.length === 0).each([
  ['API keys', { apiKeys: { existingSecret: 'keys' }, policies }, [catalogToken]],
  ['an issuer of tokens', { config: { identity }, policies }, [catalogToken]],
  [
    'a variable',
    { extraEnv: [{ name: 'CATALOG_GATEWAY__IDENTITY__ANONYMOUS', value: 'true' }], policies },
    [catalogToken],
  ],
  ['a Secret for the catalog', { catalog: { accessToken: { existingSecret: 'token' } } }, [bootstrapKey]],
])('with %s, no second secret is generated for the same purpose', async (_name, values, expected) => {
  expect(Object.keys(await secretsOf(values))).toEqual(expected)
})

it.skipIf(helms.length === 0)('an upgrade keeps the secrets of the cluster', async () => {
  const kept = { [bootstrapKey]: { 'api-key': 'a2VwdA==' }, [catalogToken]: { token: 'YWxzbyBrZXB0' } }
  const objects = Object.entries(kept).map(([name, data]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    data,
  }))
  const secrets = (await renderInCluster(objects, ['--is-upgrade'])).filter(isGenerated)
  expect(Object.fromEntries(secrets.map(({ metadata, data }) => [metadata.name, data]))).toEqual(kept)
})
