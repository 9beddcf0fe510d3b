import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readGatewaySettings, type GatewaySettings } from '../src/config.ts'
import { temporaryFolder } from './e2e/built-program.ts'

const least = {
  upstream: { url: 'https://catalog.example' },
  identity: { apiKeys: { store: 'keys.yaml', pepperFile: '../secrets/pepper' } },
  policies: { folder: 'policies' },
  audit: { folder: '/var/audit' },
}

async function read(settings: object, environment: Record<string, string> = {}): Promise<GatewaySettings> {
  const file = join(await temporaryFolder(), 'gateway.yaml')
  await writeFile(file, stringify(settings))
  return readGatewaySettings(file, environment)
}

test('what a file need not say has defaults that are safe on one machine', async () => {
  expect(await read(least)).toMatchObject({
    listen: { host: '127.0.0.1', port: 2333 },
    admin: { host: '127.0.0.1', port: 2334 },
    upstream: { name: 'catalog', delimiter: '$', timeouts: { connectMs: 5_000 } },
    identity: { issuers: [] },
    dialects: [],
    log: { level: 'info' },
  })
})

test('paths are relative to the file, not to where the program is started', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'gateway.yaml')
  const issuer = { name: 'corp', issuer: 'https://corp.example', audience: 'catalog', algorithms: ['RS256'] }
  const settings = {
    ...least,
    upstream: {
      ...least.upstream,
      certificateAuthority: 'authority.pem',
      credential: { file: 'credential' },
    },
    identity: { ...least.identity, issuers: [{ ...issuer, jwks: { file: 'keys.json' } }] },
  }
  await writeFile(file, stringify(settings))
  const { upstream, identity, policies, audit } = await readGatewaySettings(file, {})
  expect(upstream.certificateAuthority).toBe(join(folder, 'authority.pem'))
  expect(upstream.credential?.file).toBe(join(folder, 'credential'))
  expect(identity.apiKeys).toEqual({
    store: join(folder, 'keys.yaml'),
    pepperFile: join(folder, '..', 'secrets', 'pepper'),
  })
  expect(identity.issuers[0]?.jwks).toEqual({ file: join(folder, 'keys.json') })
  expect([policies.folder, audit.folder]).toEqual([join(folder, 'policies'), '/var/audit'])
})

test('every value may come from the environment', async () => {
  const environment = {
    CATALOG_GATEWAY__UPSTREAM__URL: 'http://catalog:2335/base',
    CATALOG_GATEWAY__UPSTREAM__CREDENTIAL__VALUE: 'Bearer secret',
    CATALOG_GATEWAY__UPSTREAM__TIMEOUTS__CONNECT_MS: '250',
    CATALOG_GATEWAY__IDENTITY__API_KEYS__STORE: '/keys.yaml',
    CATALOG_GATEWAY__IDENTITY__API_KEYS__PEPPER_FILE: '/pepper',
    CATALOG_GATEWAY__POLICIES__FOLDER: '/policies',
    CATALOG_GATEWAY__AUDIT__FOLDER: '/audit',
    CATALOG_GATEWAY__DIALECTS: '[lance]',
    CATALOG_GATEWAY__LIMITS__JSON_BYTES: '1024',
  }
  expect(await read({}, environment)).toMatchObject({
    upstream: {
      url: 'http://catalog:2335/base',
      credential: { header: 'authorization', value: 'Bearer secret' },
      timeouts: { connectMs: 250, answerMs: 300_000 },
    },
    identity: { apiKeys: { store: '/keys.yaml', pepperFile: '/pepper' } },
    dialects: ['lance'],
    limits: { jsonBytes: 1024 },
  })
})

const credential = { header: 'authorization', value: 'Bearer x', file: 'credential' }
const refused: [why: string, changes: object, message: RegExp][] = [
  ['nobody could call', { identity: {} }, /identity: nobody could call/],
  ['two credentials', { upstream: { ...least.upstream, credential } }, /expected either value or file/],
  ['no credential', { upstream: { ...least.upstream, credential: {} } }, /expected either value or file/],
  ['another scheme', { upstream: { url: 'ftp://catalog' } }, /upstream\.url: /],
  [
    'a password in a URL',
    { upstream: { url: 'https://me:secret@catalog' } },
    /upstream\.url: expected a URL without/,
  ],
  [
    'a query that would be lost',
    { upstream: { url: 'https://catalog?a=b' } },
    /upstream\.url: expected a URL/,
  ],
  ['a port out of range', { listen: { port: 65_536 } }, /listen\.port: /],
  ['a time of nothing', { upstream: { ...least.upstream, timeouts: { idleMs: 0 } } }, /idleMs: /],
  ['a misspelt setting', { polices: { folder: 'x' } }, /polices: there is no such setting/],
]

test.for(refused)('%s is refused', async ([, changes, message]) => {
  const refusal = read({ ...least, ...changes })
  await expect(refusal).rejects.toThrow(message)
  await expect(refusal).rejects.not.toThrow(/secret/)
})
