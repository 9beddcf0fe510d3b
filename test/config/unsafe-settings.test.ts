import { expect, it } from 'vitest'
import type { UnsafeName } from '../../src/config/sections.ts'
import { readChanged } from './read-changed-settings.ts'

const issuer = {
  name: 'corp',
  issuer: 'https://corp.example',
  audience: 'catalog',
  algorithms: ['RS256'],
  jwks: { file: 'keys.json' },
}
const kubernetes = { name: 'cluster', audience: 'catalog' }
const read = (changes: object) => readChanged({ identity: { issuers: [issuer] }, ...changes })

const cases: [name: UnsafeName, what: string, changes: object, where: string][] = [
  [
    'plain-http-issuer',
    'an issuer of tokens that speaks plain http',
    { identity: { issuers: [issuer, { ...issuer, name: 'other', issuer: 'http://corp.example' }] } },
    'identity.issuers.1.issuer',
  ],
  [
    'plain-http-issuer',
    'a cluster that speaks plain http',
    { identity: { kubernetes: { ...kubernetes, issuer: 'HTTP://cluster.example' } } },
    'identity.kubernetes.issuer',
  ],
  [
    'open-console',
    'the console on all addresses',
    { admin: { host: '0.0.0.0', console: true } },
    'admin.console',
  ],
]

it.for(cases)('%s: %s is refused, unless it is accepted by name', async ([name, , changes, where]) => {
  await expect(read(changes)).rejects.toThrow(new RegExp(`:\\d+: ${where}: .*or unsafe: \\[${name}\\]$`))
  await expect(read({ ...changes, unsafe: [name] })).resolves.toBeDefined()
})

it.for<[what: string, changes: object]>([
  [
    'an issuer on this machine itself',
    { identity: { issuers: [{ ...issuer, issuer: 'http://127.0.0.1:9' }] } },
  ],
  ['an issuer whose name is no URL', { identity: { issuers: [{ ...issuer, issuer: 'corp' }] } }],
  ['the console on a loopback address', { admin: { host: '::1', console: true } }],
  ['health and metrics on all addresses', { admin: { host: '0.0.0.0' } }],
  ['records that nothing waits for', { audit: { folder: 'audit', mode: 'besteffort' } }],
])('%s is accepted', async ([, changes]) => {
  await expect(read(changes)).resolves.toBeDefined()
})

it('tokens for any audience cannot be accepted', async () => {
  await expect(read({ unsafe: ['any-audience'] })).rejects.toThrow(/unsafe\.0: /)
})
