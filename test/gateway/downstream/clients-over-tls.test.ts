import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { Agent, buildConnector, request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { hasProgram } from '../../support/find-program.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
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

interface RealClient {
  readonly name: string
  readonly isInstalled: boolean
  /** Of HTTP, as the client states it. */
  readonly version: string | undefined
  post(request: SentRequest): Promise<Received>
}

const large = arrowBytes(2 * 1024 * 1024)
const requests: [what: string, operation: string, body: Buffer, response: Buffer][] = [
  ['JSON', 'describe', Buffer.from('{"version":1}'), Buffer.from('{"location":"s3://orders"}')],
  ['an upload', 'insert', large, Buffer.from('{"version":2}')],
  ['a download', 'query', Buffer.from('{"k":1}'), large],
]

const hasCurl = hasProgram('curl')

let folder = ''
let authority: TestAuthority
let certificate: TestCertificate

/** Clients that offer HTTP/2 fall back to HTTP/1.1 by ALPN. */
const clients: RealClient[] = [
  { name: 'curl --http1.1', isInstalled: hasCurl, version: '1.1', post: (sent) => curl('--http1.1', sent) },
  { name: 'curl --http2', isInstalled: hasCurl, version: '1.1', post: (sent) => curl('--http2', sent) },
  { name: 'undici', isInstalled: true, version: 'http/1.1', post: (sent) => undici(false, sent) },
  { name: 'undici with allowH2', isInstalled: true, version: 'http/1.1', post: (sent) => undici(true, sent) },
  { name: 'fetch of node', isInstalled: true, version: undefined, post: fetchOfNode },
]

describe.skipIf(!hasOpenssl())('over TLS (skipped without openssl)', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clients-'))
    authority = await makeAuthority(folder, 'own')
    certificate = await authority.issue('gateway', 'IP:127.0.0.1')
    return () => rm(folder, { recursive: true, force: true })
  })

  describe.each(clients)('$name', ({ isInstalled, version, ...client }) => {
    it.skipIf(!isInstalled).each(requests)('sends %s', async (_what, operation, body, response) => {
      const { gateway, upstream } = await startWithTls()
      upstream.answering = respondWith(200, response)
      const url = `${gateway.url}/v1/table/orders/${operation}`
      const received = await client.post({ url, key: gateway.key('dev'), body })
      expect(received).toMatchObject({ status: '200', ...(version !== undefined && { version }) })
      expect(received.body.equals(response)).toBe(true)
      expect((await upstream.requests[0]?.body)?.equals(body)).toBe(true)
    })
  })
})

async function startWithTls() {
  const { certFile, keyFile } = certificate
  return startGatewayAndUpstream({
    adjust: (settings) => ({
      ...settings,
      listen: { ...settings.listen, tls: { certFile, keyFile, clientAuth: 'none' } },
    }),
  })
}

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
