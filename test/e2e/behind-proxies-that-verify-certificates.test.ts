import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { expect, it } from 'vitest'
import type { ListenSettings } from '../../src/config/listen-settings.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'
import { writeCertPair, writeClientCert } from '../identity/mtls/forwarded-certificates.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../identity/mtls/test-certificates.ts'
import { freePort } from '../support/free-port.ts'
import { haproxy, hasProxy, nginx, proxyAddress, startProxy, type ProxyProgram } from './other-proxy.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Trust {
  readonly port: number
  readonly gatewayPort: number
  readonly server: TestCertificate
  readonly authority: TestAuthority
}

interface Case {
  readonly program: ProxyProgram
  readonly clientCertificateFrom: NonNullable<ListenSettings['clientCertificateFrom']>
  readonly configure: (trust: Trust) => string
}

// As in docs/traffic.md.
const cases: readonly Case[] = [
  {
    program: 'haproxy',
    clientCertificateFrom: 'client-cert',
    configure: ({ server, authority, ...ports }) =>
      haproxy({
        ...ports,
        bind: `ssl crt "${server.certFile}.both" ca-file "${authority.certFile}" verify optional`,
        lines: [
          'http-request del-header client-cert',
          'http-request set-header client-cert :%[ssl_c_der,base64]: if { ssl_c_used }',
        ],
      }),
  },
  {
    program: 'nginx',
    clientCertificateFrom: 'x-forwarded-client-cert',
    configure: ({ server, authority, ...ports }) =>
      nginx({
        ...ports,
        listen: 'ssl',
        http: `map $ssl_client_escaped_cert $client_cert { '' ''; default 'Cert="$ssl_client_escaped_cert"'; }`,
        server: `ssl_certificate "${server.certFile}"; ssl_certificate_key "${server.keyFile}";
          ssl_client_certificate "${authority.certFile}"; ssl_verify_client optional;`,
        header: 'X-Forwarded-Client-Cert $client_cert',
      }),
  },
]

for (const { program, clientCertificateFrom, configure } of cases) {
  const isSkipped = !hasProxy[program] || !hasOpenssl()
  it.skipIf(isSkipped)(`the caller is that of the certificate that ${program} has verified`, async () => {
    const folder = await temporaryFolder()
    const authority = await makeAuthority(folder, 'own')
    const server = await authority.issue('server', `IP:${proxyAddress}`, { usage: 'serverAuth' })
    await writeFile(`${server.certFile}.both`, server.cert + server.key)
    const loader = await authority.issue('loader', 'URI:spiffe://a/loader', { usage: 'clientAuth' })
    const reader = await authority.issue('reader', 'URI:spiffe://a/reader', { usage: 'clientAuth' })
    const foreign = await makeAuthority(folder, 'foreign')
    const stranger = await foreign.issue('stranger', 'URI:spiffe://a/loader', { usage: 'clientAuth' })
    const { gateway, upstream } = await startGatewayAndUpstream({
      policies: [
        {
          ...allowEverything,
          rules: [
            {
              id: 'load',
              effect: 'allow',
              subjects: { users: ['mesh:spiffe://a/loader'] },
              operations: ['all'],
            },
          ],
        },
      ],
      adjust: (settings) => ({
        ...settings,
        listen: { ...settings.listen, trustedProxies: [`${proxyAddress}/32`], clientCertificateFrom },
        identity: { ...settings.identity, clientCertificates: { name: 'mesh' } },
      }),
    })
    const port = await freePort()
    const gatewayPort = Number(new URL(gateway.url).port)
    await startProxy(program, configure({ port, gatewayPort, server, authority }), port)

    /** Resolves with the status; undefined if the proxy refuses the connection. */
    async function send(client: TestCertificate | undefined, claimed?: TestCertificate) {
      const own = client && { cert: client.cert, key: client.key }
      const sent = request({
        host: proxyAddress,
        port,
        method: 'POST',
        path: '/v1/table/a/drop',
        ca: authority.cert,
        agent: false,
        ...own,
        headers: claimed && {
          'client-cert': writeClientCert(claimed).replace(/^[^:]+: /, ''),
          'x-forwarded-client-cert': writeCertPair(claimed),
        },
      })
      sent.end()
      try {
        const [response] = await once(sent, 'response')
        response.resume()
        return response.statusCode
      } catch {
        return undefined
      }
    }

    expect(await send(loader)).toBe(200)
    expect(await send(loader, reader)).toBe(200)
    expect(upstream.requests.splice(0)).toHaveLength(2)
    expect(await send(reader)).toBe(403)
    expect(await send(reader, loader)).toBe(403)
    expect(await send(undefined)).toBe(401)
    expect(await send(undefined, loader)).toBe(401)
    // nginx completes the handshake, and refuses the request.
    expect(await send(stranger)).toBe(program === 'nginx' ? 400 : undefined)
    expect(upstream.requests).toEqual([])
  })
}
