import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import { expect, onTestFinished, it } from 'vitest'
import { stringify } from 'yaml'
import {
  makeProviderKey,
  startIdentityProvider,
  type IdentityProvider,
} from '../identity/jwt/identity-provider.ts'
import { startProgram } from './built-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

const audience = 'urn:catalog'

const policy = {
  apiVersion: 'catalog-gateway/v1',
  kind: 'AccessPolicy',
  metadata: { name: 'loaders' },
  namespace: ['staging'],
  rules: [
    {
      id: 'loader',
      effect: 'allow',
      subjects: { users: ['corp:loader'] },
      operations: ['read', 'create', 'write'],
    },
  ],
}

/** Starts a server program that ends with the test. */
async function startServer(...parameters: string[]): Promise<string> {
  const program = startProgram(parameters)
  onTestFinished(async () => {
    program.signal('SIGTERM')
    const { status, messages } = await program.ended
    expect({ status, messages }).toMatchObject({ status: 0 })
  })
  return program.announced(/^listening on (http:\S+)$/m)
}

/** Starts a catalog in its own process, and a gateway in front of it that trusts the provider. */
async function startGateway(provider: IdentityProvider): Promise<string> {
  const folder = await temporaryFolder()
  const accessToken = 'the-token-of-the-gateway'
  const catalog = { listen: { port: 0 }, data: { folder: 'data' }, accessToken, log: { level: 'warn' } }
  await writeFile(join(folder, 'catalog.yaml'), stringify(catalog))
  const catalogUrl = await startServer('backend', '--config', join(folder, 'catalog.yaml'))
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'loaders.yaml'), stringify(policy))
  await writeFile(join(folder, 'credential'), `Bearer ${accessToken}\n`)
  const jwks = { url: provider.keysUrl }
  const issuer = { name: 'corp', issuer: provider.issuer, audience, algorithms: ['RS256'], jwks }
  const gateway = {
    listen: { port: 0 },
    admin: { port: 0 },
    upstream: { url: catalogUrl, credential: { file: 'credential' } },
    identity: { issuers: [issuer] },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
    dialects: ['lance'],
    log: { level: 'error' },
  }
  await writeFile(join(folder, 'gateway.yaml'), stringify(gateway))
  return startServer('serve', '--config', join(folder, 'gateway.yaml'))
}

async function startProvider(): Promise<IdentityProvider> {
  const provider = await startIdentityProvider([makeProviderKey('one')])
  onTestFinished(() => provider.stop())
  return provider
}

async function statusOf(url: string, token: string, route = '/v1/namespace/staging/exists'): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(url + route, { method: 'POST', headers })
  await response.arrayBuffer()
  return response.status
}

it("grants a caller with a provider's token exactly what the policies allow, and follows its key changes", async () => {
  const provider = await startProvider()
  const url = await startGateway(provider)
  const token = await provider.issueToken(audience)
  expect(await statusOf(url, token, '/v1/namespace/staging/create')).toBe(200)
  expect(await statusOf(url, token, '/v1/namespace/production/create')).toBe(403)
  expect(await statusOf(url, token, '/v1/namespace/staging/drop')).toBe(403)
  expect(await statusOf(url, await provider.issueToken('urn:another'))).toBe(401)
  expect(await statusOf(url, `${token.slice(0, -8)}AAAAAAAA`)).toBe(401)

  const headers = { authorization: `Bearer ${token}` }
  const clientConfig = { extraHeaders: headers }
  const client = await connect('db://any', { apiKey: '', hostOverride: url, clientConfig })
  const table = await client.createTable('people', [{ name: 'Ada' }], ['staging'])
  expect(await table.countRows()).toBe(1)

  provider.useKeys([makeProviderKey('two')])
  const after = await provider.issueToken(audience)
  await eventually(async () => expect(await statusOf(url, after)).toBe(200))
  await eventually(async () => expect(await statusOf(url, token)).toBe(401))
})
