import { execFile } from 'node:child_process'
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import type { GatewaySetup, TestedGateway } from '../support/open-gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { rawRequest } from '../support/raw-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import { arrowStart } from '../../support/arrow-upload.ts'
import { hasProgram } from '../../support/requirements.ts'
import { everyInTheLongForm, isThorough } from '../../support/thorough.ts'

const setup: GatewaySetup = { users: ['reader'] }
const shared = useSharedGateway(setup)
const insert = '/v1/table/orders/insert'
const uploadBytes = 40 * 1024 * 1024
const framings = ['length', 'chunks'] as const

/** Writes the whole upload before it reads. Resolves with the response, or rejects with the error of the client. */
function uploadWithNode(
  gateway: TestedGateway,
  framing: (typeof framings)[number],
  ca = '',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = ca === '' ? requestPlain : requestTls
    const upload = request(`${gateway.url}${insert}`, {
      ...(ca !== '' && { ca }),
      method: 'POST',
      headers: {
        'x-api-key': gateway.key('reader'),
        'content-type': 'application/vnd.apache.arrow.stream',
        ...(framing === 'length' && { 'content-length': uploadBytes }),
      },
    })
    upload.on('error', reject).on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
    upload.end(Buffer.alloc(uploadBytes))
  })
}

it.each(framings)('a Node client gets the refusal of an upload of 40 MB with %s', async (framing) => {
  for (let count = 0; count < (isThorough ? 5 : 2); count += 1)
    expect(await uploadWithNode(shared.gateway, framing)).toMatch(/^403 .*InsertIntoTable.*"code":15/)
  expect(shared.upstream.requests).toEqual([])
})

it.skipIf(!hasOpenssl()).each(framings)('over TLS, it gets the refusal with %s, too', async (framing) => {
  let authority: TestAuthority | undefined
  const { gateway } = await startGatewayAndUpstream({
    ...setup,
    async adjust(settings, folder) {
      authority = await makeAuthority(folder, 'own')
      const { certFile, keyFile } = await authority.issue('gateway', 'IP:127.0.0.1')
      return { ...settings, listen: { ...settings.listen, tls: { certFile, keyFile, clientAuth: 'none' } } }
    },
  })
  expect(await uploadWithNode(gateway, framing, authority?.cert)).toMatch(/^403 .*InsertIntoTable/)
})

it('keeps the connection if little is left of a refused body', async () => {
  const { gateway } = shared
  const connection = openRawConnection(gateway.url)
  const head = (user: string) =>
    rawRequest([
      `POST ${insert} HTTP/1.1`,
      'host: g',
      `x-api-key: ${gateway.key(user)}`,
      'content-length: 60000',
    ])
  connection.write(head('reader'))
  await connection.waitFor(/^HTTP\/1.1 403 [^]*connection: keep-alive[^]*}$/)
  connection.write('x'.repeat(60_000) + head('reader'))
  await connection.waitFor(/}HTTP\/1.1 403 [^]*}$/)
})

it('closes the connection after 401 if anything is left of the body', async () => {
  const { gateway } = shared
  const connection = openRawConnection(gateway.url)
  connection.write(rawRequest([`POST ${insert} HTTP/1.1`, 'host: g', 'content-length: 1']))
  expect(await connection.waitForEnd()).toMatch(/^HTTP\/1.1 401 [^]*connection: close[^]*}$/)
})

const hasJava = hasProgram('java')

describe.skipIf(!hasJava)('a Java client, which writes the whole upload before it reads', () => {
  const program = join(import.meta.dirname, 'UploadClient.java')

  async function upload(url: string, key: string, framing: string): Promise<string> {
    const start = arrowStart.toString('base64')
    const args = [program, `${url}${insert}`, key, start, String(uploadBytes), framing]
    const { stdout } = await promisify(execFile)('java', args)
    return stdout
  }

  it.each(everyInTheLongForm(framings, 2))(
    'gets the refusal of an upload of 40 MB with %s',
    { timeout: 60_000 },
    async (framing) => {
      const { gateway, upstream } = shared
      expect(await upload(gateway.url, gateway.key('reader'), framing)).toMatch(/^403 .*InsertIntoTable/)
      expect(upstream.requests).toEqual([])
    },
  )

  it('gets the refusal of an upstream during an upload of 40 MB', { timeout: 60_000 }, async () => {
    const { gateway, upstream } = shared
    upstream.answering = respondWith(409, { error: 'being dropped', code: 19 })
    expect(await upload(gateway.url, gateway.key('dev'), 'length')).toMatch(/^409 .*being dropped/)
  })
})
