import { expect, it } from 'vitest'
import { createProxyFinder, parseNoProxy, readNoProxy, toTarget } from '../../../src/outbound/proxies.ts'

const proxy = 'http://proxy.example:3128'

function findProxy(environment: Record<string, string>, url: string, noProxy = readNoProxy(environment)) {
  return createProxyFinder(environment, undefined, noProxy)(toTarget(new URL(url)))
}

it.each<[noProxy: string, direct: string[], proxied: string[]]>([
  ['*', ['https://a.example', 'https://10.0.0.1'], []],
  [
    'a.example',
    ['https://a.example', 'https://b.a.example', 'https://a.example:8443'],
    ['https://ba.example'],
  ],
  ['A.Example.', ['https://a.example', 'https://A.EXAMPLE'], ['https://example']],
  ['.a.example', ['https://b.a.example'], ['https://a.example', 'https://ba.example']],
  ['*.a.example', ['https://b.a.example'], ['https://a.example']],
  ['a.example:8443', ['https://a.example:8443'], ['https://a.example', 'https://a.example:443']],
  ['a.example:443', ['https://a.example'], ['https://a.example:8443']],
  ['catalog', ['https://catalog', 'https://db.catalog'], ['https://catalog.example']],
  [
    '.svc,.cluster.local',
    ['https://catalog.lake.svc', 'https://x.svc.cluster.local'],
    ['https://svc.example'],
  ],
  [
    '10.0.0.0/8',
    ['https://10.1.2.3', 'https://[::ffff:10.1.2.3]'],
    ['https://11.0.0.1', 'https://a.10.example'],
  ],
  ['2001:db8::/32', ['https://[2001:db8::1]'], ['https://[2001:db9::1]']],
  ['10.0.0.1', ['https://10.0.0.1', 'https://10.0.0.1:8443'], ['https://10.0.0.10']],
  ['10.0.0.1:8443', ['https://10.0.0.1:8443'], ['https://10.0.0.1']],
  ['2001:db8::1', ['https://[2001:db8::1]', 'https://[2001:DB8:0::1]:8443'], ['https://[2001:db8::2]']],
  ['[2001:db8::1]:8443', ['https://[2001:db8::1]:8443'], ['https://[2001:db8::1]']],
  [' a.example , b.example\tc.example', ['https://a.example', 'https://b.example', 'https://c.example'], []],
  ['', [], ['https://a.example']],
])('NO_PROXY=%s', (noProxy, direct, proxied) => {
  const environment = { HTTPS_PROXY: proxy, NO_PROXY: noProxy }
  for (const url of direct) expect([url, findProxy(environment, url)]).toEqual([url, undefined])
  for (const url of proxied) expect([url, findProxy(environment, url)?.url.origin]).toEqual([url, proxy])
})

it.each([
  'https://localhost',
  'https://app.localhost',
  'https://127.0.0.1',
  'https://127.1.2.3',
  'https://[::1]',
  'https://[::ffff:127.0.0.1]',
  'https://0x7f.1',
])('%s never has a proxy', (url) => {
  expect(findProxy({ https_proxy: proxy }, url)).toBeUndefined()
  expect(findProxy({ https_proxy: proxy }, url, [])).toBeUndefined()
})

it.each([
  '10.0.0.0/33',
  '10.0.0.0/8/8',
  'a/b',
  'a.example:0',
  'a.example:99999',
  '10.*',
  'a..example',
  '[a.example]',
  '.',
  '',
])('the entry "%s" is malformed', (entry) => {
  expect(parseNoProxy(entry)).toBeUndefined()
})

it.each<
  [what: string, environment: Record<string, string>, https: string | undefined, http: string | undefined]
>([
  ['no variable', {}, undefined, undefined],
  ['HTTPS_PROXY', { HTTPS_PROXY: proxy }, proxy, undefined],
  ['HTTP_PROXY', { HTTP_PROXY: proxy }, undefined, proxy],
  ['lower case', { https_proxy: proxy, http_proxy: proxy }, proxy, proxy],
  ['both cases', { https_proxy: proxy, HTTPS_PROXY: 'http://other.example' }, proxy, undefined],
  ['an empty variable', { https_proxy: '', HTTPS_PROXY: proxy }, proxy, undefined],
  ['a proxy without a scheme', { https_proxy: 'proxy.example:3128' }, proxy, undefined],
  ['a proxy with a user', { https_proxy: 'http://user:p%40ss@proxy.example:3128/' }, proxy, undefined],
  ['a proxy with TLS', { https_proxy: 'https://proxy.example' }, 'https://proxy.example', undefined],
])('reads the environment: %s', (_what, environment, https, http) => {
  expect(findProxy(environment, 'https://a.example')?.url.origin).toBe(https)
  expect(findProxy(environment, 'http://a.example')?.url.origin).toBe(http)
})

it.each([
  'socks5://user:secret@proxy.example',
  'http://',
  'http://user:secret@',
  'http://user:secret%@proxy.example',
])('refuses the proxy %s, and does not repeat it', (value) => {
  const read = () => findProxy({ HTTPS_PROXY: value }, 'https://a.example')
  expect(read).toThrow(/^HTTPS_PROXY: expected /)
  expect(read).not.toThrow(/secret/)
})

it('lets settings replace NO_PROXY', () => {
  const environment = { HTTPS_PROXY: proxy, NO_PROXY: 'a.example' }
  expect(findProxy(environment, 'https://a.example', ['b.example'])?.url.origin).toBe(proxy)
  expect(findProxy(environment, 'https://b.example', ['b.example'])).toBeUndefined()
})
