import { expect, it, onTestFinished } from 'vitest'
import { startConnectProxy } from '../../../../test/support/connect-proxy.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { openEngine } from '../../engine/lancedb-engine.ts'
import { addOutboundOptions } from '../../storage/open-s3.ts'
import { localFileStorage } from '../../storage/local-storage.ts'

const proxyUrl = new URL('http://proxy.example:3128')
const endpoint = 'https://s3.example'

/** The members of an outbound, whose proxy credential and authorities may change. */
function changingOutbound(hasProxy = true) {
  const current: { credential?: string; ca?: string[] } = {}
  const authorization = {
    get current() {
      const { credential } = current
      return credential === undefined ? undefined : `Basic ${Buffer.from(credential).toString('base64')}`
    },
    refresh: async () => {},
  }
  const outbound = {
    findProxy: () => (hasProxy ? { url: proxyUrl, authorization } : undefined),
    getTlsOptions: () => (current.ca ? { ca: current.ca } : {}),
  }
  return { current, outbound }
}

it.each([
  ['no credential', undefined, 'http://proxy.example:3128/'],
  ['a user and a password', 'user:password', 'http://user:password@proxy.example:3128/'],
  ['reserved characters', 'a@b:c:d/e%', 'http://a%40b:c%3Ad%2Fe%25@proxy.example:3128/'],
])('the engine gets a proxy with %s', (_what, credential, expected) => {
  const { current, outbound } = changingOutbound()
  if (credential !== undefined) current.credential = credential
  const { proxy_url: url, proxy_excludes: excludes } = addOutboundOptions({}, endpoint, [], outbound)()
  expect({ url, excludes }).toEqual({ url: expected, excludes: undefined })
})

it.each([
  [endpoint, 's3.example'],
  ['http://127.0.0.1:9000', '127.0.0.1'],
  ['https://[::1]:9000', '::1'],
])('the engine finds no proxy for %s in the environment by itself', (url, host) => {
  const { outbound } = changingOutbound(false)
  expect(addOutboundOptions({}, url, [], outbound)()).toMatchObject({ proxy_excludes: host })
})

it('the engine trusts the default authorities, or those of the settings', () => {
  const { current, outbound } = changingOutbound()
  const options = addOutboundOptions({}, endpoint, ['first', 'second'], outbound)
  expect(options()).toMatchObject({ proxy_ca_certificate: 'first\nsecond' })
  current.ca = ['third']
  expect(options()).toMatchObject({ proxy_ca_certificate: 'third' })
})

it('the options are the same object until the credential or an authority changes', () => {
  const { current, outbound } = changingOutbound()
  const options = addOutboundOptions({ kept: 'value' }, endpoint, [], outbound)
  const [first, second] = [options(), options()]
  expect(second).toBe(first)
  current.credential = 'user:password'
  const third = options()
  expect(third).toMatchObject({ kept: 'value', proxy_url: expect.stringContaining('user') })
  expect(options()).toBe(third)
})

it('the engine opens new connections with options that have changed', async () => {
  const proxies = [await startConnectProxy({ hosts: {} }), await startConnectProxy({ hosts: {} })]
  const keys = { aws_region: 'us-east-1', aws_access_key_id: 'key', aws_secret_access_key: 'secret' }
  let options: Record<string, string> = {}
  const engine = openEngine({ ...localFileStorage, engineOptions: () => options }, 1000)
  onTestFinished(() => engine.close())
  for (const { url, requested } of proxies) {
    options = { ...keys, aws_endpoint: endpoint, client_max_retries: '0', proxy_url: url }
    // Fails after several attempts of the engine, the first of which is enough.
    engine.count({ location: 's3://bucket/prefix/t.lance' }).catch(() => undefined)
    await eventually(() => expect(requested).toContain('s3.example:443'))
  }
})
