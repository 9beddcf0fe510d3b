import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import { startConnectProxy } from '../../support/connect-proxy.ts'
import { echoLine, openSocket, startEchoServer } from './opened-socket.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

const target = { isSecure: true, host: 'catalog.example', port: 443 }

describe.skipIf(!hasOpenssl())('connections through a proxy (skipped without openssl)', () => {
  const folder = sharedFolder()
  let authority: TestAuthority
  let served: { cert: string; key: string }

  beforeAll(async () => {
    authority = await makeAuthority(folder, 'company')
    served = await authority.issue('catalog', 'DNS:catalog.example')
  })

  it('carry TLS to a host whose name only the proxy knows', async () => {
    const hosts = { 'catalog.example:443': await startEchoServer(served) }
    const proxy = await startConnectProxy({ hosts })
    const environment = { HTTPS_PROXY: proxy.url }
    const socket = await openSocket(target, { environment, material: { ca: authority.cert } })
    expect(await echoLine(socket, 'a line')).toBe('a line')
    expect(proxy.requested).toEqual(['catalog.example:443'])
  })

  it('carry connections without TLS, too', async () => {
    const proxy = await startConnectProxy({ hosts: { 'catalog.example:80': await startEchoServer() } })
    const environment = { HTTP_PROXY: proxy.url }
    const socket = await openSocket({ isSecure: false, host: 'catalog.example', port: 80 }, { environment })
    expect(await echoLine(socket, 'a line')).toBe('a line')
    expect(proxy.requested).toEqual(['catalog.example:80'])
  })

  it('write an IPv6 address in brackets', async () => {
    const proxy = await startConnectProxy({ hosts: { '[2001:db8::1]:80': await startEchoServer() } })
    const environment = { HTTP_PROXY: proxy.url }
    const socket = await openSocket({ isSecure: false, host: '2001:db8::1', port: 80 }, { environment })
    expect(await echoLine(socket, 'a line')).toBe('a line')
  })

  it('may use TLS to the proxy as well, and trust the authority for all connections', async () => {
    const hosts = { 'catalog.example:443': await startEchoServer(served) }
    const tls = await authority.issue('proxy', 'IP:127.0.0.1')
    const proxy = await startConnectProxy({ hosts, tls })
    const outbound = { caFile: authority.certFile, proxy: { url: proxy.url } }
    const socket = await openSocket(target, { outbound })
    expect(await echoLine(socket, 'a line')).toBe('a line')
    const environment = { HTTPS_PROXY: proxy.url }
    const material = { ca: authority.cert }
    await expect(openSocket(target, { environment, material })).rejects.toMatchObject({
      code: 'PROXY_UNREACHABLE',
    })
  })

  it('verify the name of the host', async () => {
    const proxy = await startConnectProxy({ hosts: { '10.0.0.1:443': await startEchoServer(served) } })
    const options = { environment: { HTTPS_PROXY: proxy.url }, material: { ca: authority.cert } }
    const address = { isSecure: true, host: '10.0.0.1', port: 443 }
    await expect(openSocket(address, options)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  it('authenticate with a credential of the environment or of a file', async () => {
    const hosts = { 'catalog.example:443': await startEchoServer(served) }
    const proxy = await startConnectProxy({ hosts, credential: 'gateway:p@ss' })
    const material = { ca: authority.cert }
    const environment = { HTTPS_PROXY: proxy.url.replace('//', '//gateway:p%40ss@') }
    expect(await echoLine(await openSocket(target, { environment, material }), 'one')).toBe('one')
    const credentialFile = join(folder, 'credential')
    await writeFile(credentialFile, 'gateway:p@ss\n')
    const outbound = { proxy: { url: proxy.url, credentialFile } }
    expect(await echoLine(await openSocket(target, { outbound, material }), 'two')).toBe('two')
  })

  it('replace the proxies of the environment by that of the settings', async () => {
    const hosts = { 'catalog.example:443': await startEchoServer(served) }
    const [configured, other] = [await startConnectProxy({ hosts }), await startConnectProxy({ hosts })]
    await openSocket(target, {
      outbound: { proxy: { url: configured.url } },
      environment: { HTTPS_PROXY: other.url, NO_PROXY: 'other.example' },
      material: { ca: authority.cert },
    })
    expect([configured.requested.length, other.requested.length]).toEqual([1, 0])
  })

  it('are direct for hosts that need none', async () => {
    const port = await startEchoServer(await authority.issue('loopback', 'IP:127.0.0.1'))
    const proxy = await startConnectProxy({ hosts: {} })
    const outbound = { proxy: { url: proxy.url }, caFile: authority.certFile }
    const socket = await openSocket({ isSecure: true, host: '127.0.0.1', port }, { outbound })
    expect(await echoLine(socket, 'a line')).toBe('a line')
    expect(proxy.requested).toEqual([])
  })

  it.each<[failure: string, credential: string | undefined, userInfo: string, code: string, message: RegExp]>(
    [
      [
        'no credential',
        'gateway:secret',
        '',
        'PROXY_AUTHENTICATION',
        /requires authentication \(status 407\)/,
      ],
      [
        'a wrong credential',
        'gateway:secret',
        'gateway:hidden@',
        'PROXY_AUTHENTICATION',
        /rejected the credential/,
      ],
      [
        'a host that it refuses',
        undefined,
        '',
        'PROXY_REFUSED',
        /refused a connection to catalog\.example:443 with status 502/,
      ],
    ],
  )('name the failure: %s', async (_failure, credential, userInfo, code, message) => {
    const proxy = await startConnectProxy({ hosts: {}, ...(credential !== undefined && { credential }) })
    const environment = { HTTPS_PROXY: proxy.url.replace('//', `//${userInfo}`) }
    const opening = openSocket(target, { environment })
    await expect(opening).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    await expect(opening).rejects.not.toThrow(/hidden|gateway/)
  })

  it('name a proxy that cannot be reached', async () => {
    const environment = { HTTPS_PROXY: 'http://user:hidden@127.0.0.1:1' }
    const opening = openSocket(target, { environment })
    await expect(opening).rejects.toMatchObject({ code: 'PROXY_UNREACHABLE' })
    await expect(opening).rejects.toThrow(
      'the proxy http://127.0.0.1:1 cannot be reached: connect ECONNREFUSED',
    )
    // A label of more than 63 characters: its resolution fails without a query, which could take seconds.
    const host = `${'a'.repeat(64)}.invalid`
    const unresolved = openSocket(target, { environment: { HTTPS_PROXY: `http://${host}` } })
    await expect(unresolved).rejects.toThrow(`the proxy http://${host} cannot be reached: getaddrinfo `)
  })
})
