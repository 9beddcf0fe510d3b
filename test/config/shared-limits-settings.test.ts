import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { readSettings } from '../../src/settings/read-settings.ts'
import { sharedLimitsSchema } from '../../src/config/caller-limit-settings.ts'

const address = 'rediss://limits.example:6379'

it.each([
  [{ url: 'http://limits.example' }, 'url', 'expected redis:// or rediss://'],
  [{ url: 'redis://user:password@limits.example' }, 'url', 'optionally port and database'],
  [{ url: 'redis://limits.example/two' }, 'url', 'optionally port and database'],
  [{ url: 'redis://limits.example?db=2' }, 'url', 'optionally port and database'],
  [{ url: 'redis:///2' }, 'url', 'with host'],
  [{ url: 'redis://limits.example', tls: {} }, 'tls', 'expected a rediss URL'],
  [{ url: address, username: 'gateway' }, 'username', 'expected passwordFile'],
])('%j is refused at %s: %s', (settings, path, message) => {
  const { error } = sharedLimitsSchema.safeParse(settings)
  expect(error?.issues.map(({ path, message }) => [path.join('.'), message])).toEqual([
    [path, expect.stringContaining(message)],
  ])
})

it.each(['redis://127.0.0.1', 'redis://[::1]:6380/0', 'rediss://limits.example/12'])(
  '%s is an address',
  (address) => {
    expect(sharedLimitsSchema.parse({ url: address })).toEqual({ url: address })
  },
)

it('paths are relative to the settings file', () => {
  const clientCertificate = { certFile: 'own.pem', keyFile: 'own.key' }
  const tls = { caFile: 'ca.pem', clientCertificate }
  const text = stringify({ url: address, passwordFile: 'password', tls })
  expect(readSettings(sharedLimitsSchema, { file: '/etc/limits.yaml', text, environment: {} })).toMatchObject(
    {
      passwordFile: '/etc/password',
      tls: {
        caFile: '/etc/ca.pem',
        clientCertificate: { certFile: '/etc/own.pem', keyFile: '/etc/own.key' },
      },
    },
  )
})
