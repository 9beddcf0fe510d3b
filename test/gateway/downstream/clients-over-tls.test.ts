import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { buffer, text } from 'node:stream/consumers'
import { Agent, buildConnector, request } from 'undici'
import { expect, it } from 'vitest'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import { hasProgram } from '../../support/requirements.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'

interface SentRequest {
  readonly url: string
  readonly key: string
  readonly body: Buffer
}

interface Received {
  readonly status: string
  /** As the client states it; undefined if it does not. */
  readonly version?: string
  readonly body: Buffer
}

const large = arrowBytes(2 * 1024 * 1024)
const requests: readonly [operation: string, body: Buffer, response: Buffer][] = [
  ['describe', Buffer.from('{"version":1}'), Buffer.from('{"location":"s3://orders"}')],
  ['insert', large, Buffer.from('{"version":2}')],
  ['query', Buffer.from('{"k":1}'), large],
]

const hasCurl = hasProgram('curl')

let authority: TestAuthority
const shared = useSharedGateway({
  async adjust(settings, folder) {
    if (!hasOpenssl()) return settings
    authority = await makeAuthority(folder, 'own')
    const { certFile, keyFile } = await authority.issue('gateway', 'IP:127.0.0.1')
    return { ...settings, listen: { ...settings.listen, tls: { certFile, keyFile, clientAuth: 'none' } } }
  },
})

/** With the version of HTTP, as the client states it. Those that offer HTTP/2 fall back to HTTP/1.1 by ALPN. */
const clients = [
  ['curl --http1.1', hasCurl, '1.1', (sent: SentRequest) => curl('--http1.1', sent)],
  ['curl --http2', hasCurl, '1.1', (sent: SentRequest) => curl('--http2', sent)],
  ['undici', true, 'http/1.1', (sent: SentRequest) => undici(false, sent)],
  ['undici with allowH2', true, 'http/1.1', (sent: SentRequest) => undici(true, sent)],
  ['fetch of node', true, undefined, fetchOfNode],
] as const

for (const [name, isInstalled, version, post] of clients)
  it.skipIf(!isInstalled || !hasOpenssl())(`${name} sends JSON, an upload and a download`, async () => {
    const { gateway, upstream } = shared
    for (const [index, [operation, body, response]] of requests.entries()) {
      upstream.answering = respondWith(200, response)
      const url = `${gateway.url}/v1/table/orders/${operation}`
      const received = await post({ url, key: gateway.key('dev'), body })
      expect(received).toMatchObject({ status: '200', ...(version !== undefined && { version }) })
      expect(received.body.equals(response)).toBe(true)
      expect((await upstream.requests[index]?.body)?.equals(body)).toBe(true)
    }
  })

/** Sends the body as a client with default settings does: over HTTP/1.1, a large one after `100-continue`. */
async function curl(protocol: string, { url, key, body }: SentRequest): Promise<Received> {
  const written = ['--write-out', '%{stderr}%{http_version} %{http_code}']
  const sent = ['--header', `x-api-key: ${key}`, '--header', 'content-type:', '--data-binary', '@-']
  const { output, messages } = await run(
    'curl',
    ['--silent', '--show-error', protocol, '--cacert', authority.certFile, ...written, ...sent, url],
    body,
  )
  const [version = '', status = ''] = messages.split(' ')
  return { version, status, body: output }
}

async function undici(allowH2: boolean, { url, key, body }: SentRequest): Promise<Received> {
  const connect = buildConnector({ allowH2, ca: authority.cert })
  let version = ''
  const dispatcher = new Agent({
    allowH2,
    connect: (options, callback) => {
      connect(options, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null)
          return
        }
        if ('alpnProtocol' in socket) version = String(socket.alpnProtocol)
        callback(null, socket)
      })
    },
  })
  try {
    const response = await request(url, { method: 'POST', headers: { 'x-api-key': key }, body, dispatcher })
    const received = await response.body.bytes()
    return { version, status: String(response.statusCode), body: Buffer.from(received) }
  } finally {
    await dispatcher.close()
  }
}

/** In its own process, as trusted authorities are read when node starts. */
async function fetchOfNode({ url, key, body }: SentRequest): Promise<Received> {
  const script = `
    const { buffer } = await import('node:stream/consumers')
    const [url, key] = process.argv.slice(1)
    const body = await buffer(process.stdin)
    const response = await fetch(url, { method: 'POST', headers: { 'x-api-key': key }, body })
    process.stdout.write(Buffer.from(await response.arrayBuffer()))
    process.stderr.write(String(response.status))`
  const { output, messages } = await run(
    process.execPath,
    ['--input-type=module', '--eval', script, url, key],
    body,
    { NODE_EXTRA_CA_CERTS: authority.certFile },
  )
  return { status: messages, body: output }
}

async function run(
  program: string,
  parameters: readonly string[],
  input: Buffer = Buffer.alloc(0),
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly output: Buffer; readonly messages: string }> {
  const child = spawn(program, parameters, { env: { ...process.env, ...environment } })
  // A program that has ended reads no more; tests check its output.
  child.stdin.on('error', () => undefined).end(input)
  const [output, messages] = await Promise.all([
    buffer(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { output, messages }
}
