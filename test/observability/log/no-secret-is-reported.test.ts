import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { Agent, request } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { goodClaims, signToken, startIssuer } from '../../identity/jwt/token-issuer.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { respondWith, type RequestHandler } from '../../gateway/support/recording-upstream.ts'
import { formatPolicies } from '../../policy/policy-builder.ts'
import { startOtlpReceiver } from '../traces/otlp-receiver.ts'
import { linesOf, servingProgram } from '../serving-gateway.ts'
import { arrowStart } from '../../support/arrow-upload.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Secrets by description; all are distinct. */
const planted = new Map<string, string>()

function plant(what: string, secret = `secret-${randomBytes(12).toString('hex')}`): string {
  planted.set(what, secret)
  return secret
}

/** A private key in PEM; the test searches for the line with the key material. */
function plantKey(what: string): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  plant(what, pem.split('\n')[1])
  return pem
}

/** A request, and the response of the upstream, by default `{}`. */
interface Sent {
  readonly method?: 'GET'
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly handler?: RequestHandler
}

it.skipIf(!hasOpenssl())(
  'no secret gets into the log, the metrics, the audit log, the spans or an error (skipped without openssl)',
  async () => {
    const receiver = await startOtlpReceiver()
    onTestFinished(() => receiver.close())
    const issuer = await startIssuer()
    onTestFinished(() => issuer.stop())
    const authority = await makeAuthority(await temporaryFolder(), 'authority')
    const certificate = await authority.issue('localhost', 'DNS:localhost, IP:127.0.0.1')
    plant('the private key of the listener', pemLine(await readFile(certificate.keyFile, 'utf8')))
    const gateway = await servingProgram(
      {
        listen: { port: 0, tls: { certFile: certificate.certFile, keyFile: certificate.keyFile } },
        identity: {
          apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' },
          issuers: [issuer.configuration],
          assertion: { issuer: 'https://gateway.example', keyFile: 'assertion.pem' },
        },
        audit: {
          folder: 'audit',
          sealKeyFile: 'seal.pem',
          redaction: { keyFile: 'redaction' },
          reads: true,
        },
        listing: { tokenKeyFile: 'listing' },
        log: { level: 'debug' },
        traces: {
          endpoint: receiver.endpoint,
          credential: { file: 'collector' },
        },
      },
      {
        'assertion.pem': plantKey('the key of assertions'),
        'seal.pem': plantKey('the seal key of the audit log'),
        redaction: plant('the key of the redaction', randomBytes(32).toString('base64url')),
        listing: plant('the key of page tokens', randomBytes(32).toString('base64url')),
        collector: plant('what lets into the collector'),
        'policies/policies.yaml': formatPolicies([
          {
            ...allowEverything,
            rules: [
              { id: 'all', effect: 'allow', subjects: { users: ['dev', 'corp:alice'] }, operations: ['all'] },
            ],
          },
        ]),
      },
      { credential: { header: 'authorization', value: `Bearer ${plant('the credential of the gateway')}` } },
    )
    plant('the pepper', gateway.pepper)
    const key = plant('the key of dev', gateway.key('dev'))
    const dispatcher = new Agent({ connect: { ca: authority.cert } })
    onTestFinished(() => dispatcher.destroy())
    const token = await signToken(
      issuer.key,
      goodClaims({ sub: 'alice', email: plant('a claim of a good token') }),
    )
    plant('a good token', token)
    plant('the signature of a good token', token.split('.')[2])

    const reported: string[] = []
    for (const { method = 'POST', target, headers, body, handler } of requests(
      key,
      gateway.key('nobody'),
      token,
    )) {
      gateway.upstream.handler = handler ?? respondWith(200, {})
      const response = await request(gateway.url + target, {
        method,
        headers: { ...headers },
        body: method === 'GET' ? null : (body ?? ''),
        dispatcher,
      })
      const text = await response.body.text()
      // Callers with permission receive credentials; no error contains them.
      if (response.statusCode >= 400) reported.push(text, JSON.stringify(response.headers))
    }
    reported.push(await sayNonsense(gateway.url, authority.cert, `${plant('what is no request')}\r\n\r\n`))
    reported.push(
      await sayNonsense(
        gateway.url,
        authority.cert,
        `GET /v1/table HTTP/1.1\r\nhost: a\r\nx-api-key: ${plant('a key in a broken head')}\r\nbad header: ${plant('in a bad header')}\r\n\r\n`,
      ),
    )
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    const log = await gateway.stop()
    const audit = await filesIn(join(gateway.folder, 'audit'))

    const locations = {
      'the log': log,
      'standard output': gateway.program.output(),
      'the metrics': metrics,
      'the audit log': audit,
      'the spans': receiver.bodies.join('\n'),
      'an error': reported.join('\n'),
    }
    // An empty search is only meaningful if something was logged.
    expect(linesOf(log).filter(({ msg }) => msg === 'request completed').length).toBeGreaterThan(20)
    expect(audit).toContain('"kind":"intent"')
    expect(locations['the spans']).toContain('DescribeTable')
    expect(reported.length).toBeGreaterThan(20)
    const found = [...planted].flatMap(([what, secret]) =>
      Object.entries(locations)
        .filter(([, text]) => text.includes(secret))
        .map(([location, text]) => `${what} in ${location}: ${around(text, secret)}`),
    )
    expect(found).toEqual([])
  },
)

/** Requests that are allowed, refused by every stage, and that fail. */
function requests(key: string, otherKey: string, token: string): Sent[] {
  const dev = { 'x-api-key': key, 'content-type': 'application/json' }
  plant('the key of nobody', otherKey)
  const table = '/v1/table/sales$orders'
  const storage = (what: string) => ({
    aws_secret_access_key: plant(what),
    aws_session_token: plant(`${what}, token`),
  })
  const send = (action: string, more: Partial<Sent> = {}): Sent => ({
    target: `${table}/${action}`,
    headers: dev,
    ...more,
  })
  const sendJson = (action: string, body: object): Sent => send(action, { body: JSON.stringify(body) })
  const list = (more: Partial<Sent>): Sent => ({
    method: 'GET',
    target: '/v1/namespace/sales/list',
    headers: dev,
    ...more,
  })
  const forged = `${token.slice(0, -8)}${plant('a forged token').slice(-8)}`
  const properties = {
    'content-type': 'application/vnd.apache.arrow.stream',
    'x-catalog-table-properties': JSON.stringify(storage('properties in a header')),
  }
  return [
    // Credentials that are valid, invalid, and in wrong positions.
    send('drop', { headers: { authorization: `Bearer ${token}` } }),
    ...[
      dev,
      { authorization: `Bearer ${token}` },
      { 'x-api-key': otherKey },
      { 'x-api-key': plant('an unknown key') },
      { 'x-api-key': `cg_${plant('a key of the right form')}_x` },
      { authorization: `Bearer ${plant('a token that is none')}` },
      { authorization: `Bearer ${forged}` },
      { authorization: `Basic ${plant('a password')}` },
      { ...dev, authorization: `Bearer ${plant('a token beside a key')}` },
      { ...dev, cookie: `session=${plant('a cookie')}` },
      { ...dev, x_api_key: plant('a key with an underscore') },
    ].map((headers) => send('describe', { headers })),
    send(`describe?api_key=${plant('a key in the query')}`),
    send(`describe?access_token=${plant('a token in the query')}`, { headers: {} }),
    send(`describe?version=${plant('a parameter of the wrong type')}`),
    send(`describe?delimiter=a&delimiter=${plant('a repeated parameter')}`),
    { target: `/v1/nothing?token=${plant('a token in the query of nothing')}`, headers: dev },
    // Context entries for the upstream only.
    ...[
      { 'x-catalog-ctx-token': plant('a context entry') },
      { 'x-catalog-ctx-gateway-token': plant('a reserved context entry') },
      { 'x-lance-ctx-token': plant('a context entry of another dialect') },
      { traceparent: plant('a traceparent that is none'), baggage: `key=${plant('baggage')}` },
      { 'x-request-id': `${plant('a request id that is none')} !` },
    ].map((headers) => send('drop', { headers: { ...dev, ...headers } })),
    sendJson('describe', {
      identity: { api_key: plant('a key in a body'), auth_token: plant('a token in a body') },
    }),
    send('describe', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ identity: { api_key: plant('only a key in a body') } }),
    }),
    sendJson('drop', {
      identity: { api_key: plant('a key in the body of a change') },
      context: { token: plant('a context entry in a body') },
    }),
    sendJson('register', { location: 's3://bucket/orders', properties: storage('properties of a table') }),
    sendJson('declare', { storage_options: storage('storage options of a body') }),
    send('declare', { body: `{"storage_options":{"a":"${plant('a broken body')}"` }),
    send('declare', { body: `{"a":${plant('no JSON')}}` }),
    sendJson('declare', { properties: { [plant('a name of a property')]: '1' }, id: ['other'] }),
    sendJson('delete', { predicate: `card = '${plant('a value in a filter')}'` }),
    sendJson('update', { updates: [['card', `'${plant('a value of an update')}'`]] }),
    send('create', {
      headers: { ...dev, ...properties },
      body: Buffer.concat([arrowStart, Buffer.from(plant('an upload'))]),
    }),
    send('describe', {
      handler: respondWith(200, { location: 's3://a', storage_options: storage('vended credentials') }),
    }),
    {
      ...sendJson('create_index', { column: 'a', index_type: 'BTREE' }),
      handler: respondWith(200, { storage_options: storage('credentials in the answer to a change') }),
    },
    send('drop', {
      handler: respondWith(500, `at connect (postgres://user:${plant('a password in an error')}@db)`, {}),
    }),
    send('describe', {
      handler: respondWith(502, `{"detail":"access_token=${plant('a detail in an error')}"}`),
    }),
    send('drop', {
      handler: respondWith(200, `{"storage_options": ${plant('a broken answer to a change')}}`),
    }),
    send('describe', {
      handler: (_arrival, response) =>
        response.socket?.end(
          `HTTP/1.1 200 OK\r\ncontent-length: 9\r\nbad header: ${plant('in a bad head of an answer')}\r\n\r\n`,
        ),
    }),
    list({
      // Short enough that a parse error would quote all of it.
      handler: respondWith(200, `{"a":${plant('a broken listing', `p${randomBytes(5).toString('hex')}`)}}`),
    }),
    list({ handler: respondWith(200, JSON.stringify([plant('a listing that is none')])) }),
    list({ target: `/v1/namespace/sales/list?page_token=${plant('a page token')}` }),
  ]
}

function pemLine(pem: string): string | undefined {
  return pem.split('\n')[1]
}

/** Sends bytes that are no valid request, and returns the response. */
async function sayNonsense(url: string, ca: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), ca })
  let response = ''
  socket.on('data', (chunk: Buffer) => (response += String(chunk)))
  socket.write(text)
  await once(socket, 'close')
  return response
}

async function filesIn(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  const texts = names
    .filter((entry) => entry.isFile())
    .map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8'))
  return (await Promise.all(texts)).join('\n')
}

function around(text: string, secret: string): string {
  const at = text.indexOf(secret)
  return text.slice(Math.max(0, at - 200), at + secret.length + 50)
}
