import { once } from 'node:events'
import { request, Agent } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'
import { json } from 'node:stream/consumers'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { AdmissionRequest } from '../../../src/lib/kubernetes/admission-review.ts'
import { createAdmissionServer } from '../../../src/lib/kubernetes/admission-server.ts'
import { readServerCertificates } from '../../../src/lib/tls/server-certificates.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'

const review = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u-1', namespace: 'team', operation: 'CREATE', object: { color: 'red' } },
}

interface Sent {
  readonly client: TestCertificate | undefined
  readonly method?: string
  readonly agent?: Agent
}

describe.skipIf(!hasOpenssl())('a webhook for API servers (skipped without openssl)', () => {
  let folder = ''
  let own: TestAuthority
  let server: TestCertificate
  let client: TestCertificate

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'admission-'))
    own = await makeAuthority(folder, 'own')
    server = await own.issue('server', 'IP:127.0.0.1')
    client = await own.issue('client', 'DNS:client')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  function readContext({ certFile, keyFile }: TestCertificate, clientCaFile = own.certFile) {
    return readServerCertificates({ certFile, keyFile, clientAuth: 'required', clientCaFile })
  }

  async function start() {
    const asked: AdmissionRequest[] = []
    const started = createAdmissionServer({
      context: await readContext(server),
      async review(request) {
        asked.push(request)
        const isRed = JSON.stringify(request.object) === '{"color":"red"}'
        return { refusal: isRed ? 'color is "red"' : undefined, warnings: isRed ? [] : ['not red'] }
      },
    })
    onTestFinished(() => started.close())
    const url = await started.listen({ host: '127.0.0.1', port: 0 })
    return { started, asked, url }
  }

  function send(url: string, body: string, { client, method = 'POST', agent }: Sent) {
    return new Promise<{ status: number | undefined; subject: string; body: unknown }>((resolve, reject) => {
      const certificate = client && { cert: client.cert, key: client.key }
      const sent = request(
        url,
        { ca: own.cert, ...certificate, method, agent: agent ?? false },
        (response) => {
          const {
            subject: { CN },
          } = (response.socket as TLSSocket).getPeerCertificate()
          json(response).then(
            (body) => resolve({ status: response.statusCode, subject: String(CN), body }),
            reject,
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

  it('admits and refuses objects', async () => {
    const { asked, url } = await start()
    expect(await send(url, JSON.stringify(review), { client })).toMatchObject({
      status: 200,
      body: {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: {
          uid: 'u-1',
          allowed: false,
          status: { code: 422, reason: 'Invalid', message: 'color is "red"' },
        },
      },
    })
    const other = { ...review, request: { ...review.request, object: { color: 'blue' } } }
    expect(await send(url, JSON.stringify(other), { client })).toMatchObject({
      body: { response: { uid: 'u-1', allowed: true, warnings: ['not red'] } },
    })
    expect(asked).toMatchObject([review.request, other.request])
  })

  it('answers only clients with a certificate of its authority', async () => {
    const { asked, url } = await start()
    const foreign = await makeAuthority(folder, 'foreign')
    const stranger = await foreign.issue('stranger', 'DNS:client')
    const late = await own.issue('late', 'DNS:client', { days: -1 })
    for (const other of [undefined, stranger, late]) {
      await expect(send(url, JSON.stringify(review), { client: other })).rejects.toThrow()
    }
    expect(asked).toEqual([])
  })

  it.each([
    ['another method', 405, JSON.stringify(review), 'PUT'],
    ['something else than JSON', 400, 'color', 'POST'],
    ['another kind', 400, JSON.stringify({ ...review, kind: 'Pod' }), 'POST'],
    ['another version', 400, JSON.stringify({ ...review, apiVersion: 'admission.k8s.io/v1beta1' }), 'POST'],
    ['no request', 400, JSON.stringify({ ...review, request: undefined }), 'POST'],
  ])('refuses %s with %i', async (_what, status, body, method) => {
    const { asked, url } = await start()
    expect(await send(url, body, { client, method })).toMatchObject({
      status,
      body: { error: expect.any(String) as string },
    })
    expect(asked).toEqual([])
  })

  it('reads no body of 5 MiB', async () => {
    const { asked, url } = await start()
    const body = JSON.stringify({ ...review, padding: 'a'.repeat(5 * 1024 * 1024) })
    // The connection may be closed before the client has sent everything and reads the response.
    const ended = await send(url, body, { client }).catch(({ code }: NodeJS.ErrnoException) => ({
      status: code,
    }))
    expect(String(ended.status)).toMatch(/^(?:413|EPIPE|ECONNRESET)$/)
    expect(asked).toEqual([])
  })

  it('uses changed certificates at once, on open connections too', async () => {
    const { started, url } = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    expect(await send(url, JSON.stringify(review), { client, agent })).toMatchObject({ subject: 'server' })
    const next = await makeAuthority(folder, 'next')
    started.setCertificates(await readContext(await own.issue('renewed', 'IP:127.0.0.1'), next.certFile))
    await expect(send(url, JSON.stringify(review), { client, agent })).rejects.toThrow()
    const admitted = await next.issue('admitted', 'DNS:client')
    expect(await send(url, JSON.stringify(review), { client: admitted })).toMatchObject({
      status: 200,
      subject: 'renewed',
    })
  })

  it('closes within seconds although a client is silent', async () => {
    const { started, url } = await start()
    const { hostname, port } = new URL(url)
    const { cert, key } = client
    const silent = connect({ host: hostname, port: Number(port), ca: own.cert, cert, key })
    await once(silent, 'secureConnect')
    const closed = once(silent, 'close')
    await started.close()
    await closed
  })
})
