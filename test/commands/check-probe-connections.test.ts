import { expect, it } from 'vitest'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { startEchoServer } from '../lib/outbound/opened-socket.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { unresolvableHost } from '../support/unresolvable-host.ts'
import { probeUpstream as probe } from './probe-upstream.ts'

it('connects to all other hosts, and names what failed', async () => {
  const { url } = await runningBackend()
  const proxy = await startConnectProxy({ hosts: { 'siem.example:80': Number(new URL(url()).port) } })
  const port = await startEchoServer()
  const { status, messages } = await probe(
    { url: url() },
    {
      settings: {
        identity: {
          issuers: [{ name: 'corp', issuer: 'https://login.example', audience: 'a', algorithms: ['RS256'] }],
        },
        audit: {
          folder: 'audit',
          sinks: [
            { name: 'reached', type: 'otlp', url: 'http://siem.example/records' },
            { name: 'refused', type: 'otlp', url: 'http://127.0.0.1:1/records' },
            { name: 'unencrypted', type: 'otlp', url: `https://127.0.0.1:${port}/records` },
          ],
        },
        traces: { endpoint: `http://${unresolvableHost}/v1/traces` },
      },
      environment: {
        HTTP_PROXY: proxy.url,
        HTTPS_PROXY: 'http://user:hidden@127.0.0.1:1',
        NO_PROXY: unresolvableHost,
      },
    },
  )
  expect(status).toBe(1)
  expect(messages).toMatch(
    /^audit\.sinks\.reached \(siem\.example:80\): connected through the proxy http:\S+ in \d+ ms$/m,
  )
  expect(messages).toMatch(
    /^audit\.sinks\.refused \(127\.0\.0\.1:1\) cannot be reached:\n {2}route: .*ECONNREFUSED/m,
  )
  expect(messages).toMatch(/^audit\.sinks\.unencrypted .* cannot be reached:\n {2}TLS: /m)
  expect(messages).toContain(`\ntraces (${unresolvableHost}:80) cannot be reached:\n  name resolution: `)
  expect(messages).toMatch(
    /^identity\.issuers\.corp \(https:\/\/login\.example\) cannot be reached:\n {2}proxy: .* cannot be reached: connect ECONNREFUSED/m,
  )
  expect(messages).not.toContain('hidden')
})

it('warns of entries of NO_PROXY that match nothing', async () => {
  const { url } = await runningBackend()
  const { status, messages } = await probe({ url: url() }, { environment: { NO_PROXY: 'a.example, 10.*' } })
  expect([status, messages]).toEqual([0, expect.stringContaining('NO_PROXY: the entry "10.*" is malformed')])
})

it('does not print a proxy that cannot be used', async () => {
  const environment = { HTTPS_PROXY: 'socks5://user:hidden@proxy.example' }
  const { status, messages } = await probe({ url: 'http://127.0.0.1:1' }, { environment })
  expect([status, messages]).toEqual([
    1,
    expect.stringContaining('HTTPS_PROXY: expected the URL of an HTTP proxy'),
  ])
  expect(messages).not.toContain('hidden')
})
