import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request as requestHttp } from 'node:http'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { ListenSettings } from '../../src/config/listen-settings.ts'
import { ofKind, recordsOf } from '../audit/audit-fixtures.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'
import { writeCertPair, writeClientCert } from '../identity/mtls/forwarded-certificates.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../identity/mtls/test-certificates.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { hasProgram } from '../support/requirements.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type ProxyProgram = 'haproxy' | 'nginx'

const hasProxy: Readonly<Record<ProxyProgram, boolean>> = {
  haproxy: hasProgram('haproxy'),
  nginx: hasProgram('nginx'),
}

/** Addresses of the proxy and the gateway, and of the client. */
const proxy = '127.0.0.1'
const client = '127.0.0.2'

interface Ports {
  readonly port: number
  readonly gatewayPort: number
}

interface HaproxySetup extends Ports {
  /** Of `bind`. */
  readonly bind?: string
  /** Lines of the frontend. */
  readonly lines: readonly string[]
}

function haproxy({ port, gatewayPort, bind = '', lines }: HaproxySetup) {
  return `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend clients
  bind ${proxy}:${port} ${bind}
${lines.map((line) => `  ${line}\n`).join('')}
  default_backend gateway
backend gateway
  server gateway ${proxy}:${gatewayPort}
`
}

interface NginxSetup extends Ports {
  readonly header: string
  /** Of `listen`. */
  readonly listen?: string
  /** Lines of `http` and of `server`. */
  readonly http?: string
  readonly server?: string
}

function nginx({ port, gatewayPort, header, listen = '', http = '', server = '' }: NginxSetup) {
  return `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  ${http}
  server {
    listen ${proxy}:${port} ${listen};
    ${server}
    location / {
      proxy_http_version 1.1;
      proxy_set_header ${header};
      proxy_pass http://${proxy}:${gatewayPort};
    }
  }
}
`
}

/** Starts a proxy until the end of the test; resolves with its port when it accepts connections. */
async function startProxy(
  program: ProxyProgram,
  gatewayUrl: string,
  configure: (ports: Ports) => string,
): Promise<number> {
  const folder = await temporaryFolder()
  const file = join(folder, 'proxy.conf')
  const port = await freePort()
  await writeFile(file, configure({ port, gatewayPort: Number(new URL(gatewayUrl).port) }))
  const parameters = program === 'haproxy' ? ['-f', file, '-db'] : ['-p', folder, '-c', file]
  const child = spawn(program, parameters, { stdio: ['ignore', 'ignore', 'pipe'] })
  let messages = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (messages += text))
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(messages)
    const probe = connect(port, proxy)
    await once(probe, 'connect')
    probe.destroy()
  })
  return port
}

/** How the proxy forwards the address of the client. */
const addresses: readonly (readonly [ProxyProgram, how: string, (ports: Ports) => string])[] = [
  [
    'haproxy',
    'X-Forwarded-For',
    (ports) => haproxy({ ...ports, lines: ['http-request set-header x-forwarded-for %[src]'] }),
  ],
  [
    'nginx',
    'X-Forwarded-For, behind what the client sent',
    (ports) => nginx({ ...ports, header: 'X-Forwarded-For $proxy_add_x_forwarded_for' }),
  ],
]

for (const [program, how, configure] of addresses) {
  it.skipIf(!hasProxy[program])(`the client is that of ${program} (${how}), whatever it claims`, async () => {
    const { gateway } = await startGatewayAndUpstream({
      adjust: (settings) => ({
        ...settings,
        listen: { ...settings.listen, trustedProxies: [`${proxy}/32`] },
      }),
    })
    const port = await startProxy(program, gateway.url, configure)
    const sent = requestHttp({
      host: proxy,
      port,
      localAddress: client,
      method: 'POST',
      path: '/v1/table/a/drop',
      headers: {
        'x-api-key': gateway.key('dev'),
        'x-forwarded-for': '203.0.113.9',
        forwarded: 'for=203.0.113.9',
      },
    })
    sent.end()
    const [response] = await once(sent, 'response')
    response.resume()
    expect(response.statusCode).toBe(200)
    const [intent] = await eventually(async () => {
      const intents = ofKind(await recordsOf(gateway.auditFolder), 'intent')
      expect(intents).toHaveLength(1)
      return intents
    })
    expect(intent).toMatchObject({ client, peer: proxy })
  })
}

interface Trust {
  readonly server: TestCertificate
  readonly authority: TestAuthority
}

interface Verification {
  readonly program: ProxyProgram
  readonly clientCertificateFrom: NonNullable<ListenSettings['clientCertificateFrom']>
  readonly configure: (trust: Trust & Ports) => string
}

// As in docs/traffic.md.
const verifications: readonly Verification[] = [
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

for (const { program, clientCertificateFrom, configure } of verifications) {
  const isSkipped = !hasProxy[program] || !hasOpenssl()
  it.skipIf(isSkipped)(`the caller is that of the certificate that ${program} has verified`, async () => {
    const folder = await temporaryFolder()
    const authority = await makeAuthority(folder, 'own')
    const server = await authority.issue('server', `IP:${proxy}`, { usage: 'serverAuth' })
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
        listen: { ...settings.listen, trustedProxies: [`${proxy}/32`], clientCertificateFrom },
        identity: { ...settings.identity, clientCertificates: { name: 'mesh' } },
      }),
    })
    const port = await startProxy(program, gateway.url, (ports) => configure({ ...ports, server, authority }))

    /** Resolves with the status; undefined if the proxy refuses the connection. */
    async function send(client: TestCertificate | undefined, claimed?: TestCertificate) {
      const own = client && { cert: client.cert, key: client.key }
      const sent = request({
        host: proxy,
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
