import { writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

const loader = 'spiffe://cluster.example/loader'

describe.skipIf(!hasOpenssl())('client certificates (skipped without openssl)', () => {
  const folder = sharedFolder()
  let authority: TestAuthority
  let good: TestCertificate

  beforeAll(async () => {
    authority = await makeAuthority(folder, 'own')
    await authority.issue('server', 'IP:127.0.0.1', { usage: 'serverAuth' })
    good = await authority.issue('good', `URI:${loader}`, { usage: 'clientAuth' })
  })

  function setup(clientCertificate: 'optional' | 'required', revoked?: string): GatewaySetup {
    const users = [`mesh:${loader}`]
    return {
      policies: [
        {
          name: 'loaders',
          namespace: ['prod'],
          rules: [{ id: 'read', effect: 'allow', subjects: { users }, operations: ['read'] }],
        },
      ],
      settings: {
        listen: {
          tls: {
            certFile: join(folder, 'server.pem'),
            keyFile: join(folder, 'server.key'),
            clientAuth: clientCertificate,
            clientCaFile: authority.certFile,
            ...(revoked !== undefined && { clientCrlFile: revoked }),
          },
        },
        identity: { clientCertificates: { name: 'mesh' } },
      },
    }
  }

  /** Resolves with the status of the response; rejects if there is none. */
  function ask(url: string, route: string, certificate?: TestCertificate, headers = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      const client = certificate && { cert: certificate.cert, key: certificate.key }
      const sent = request(url + route, {
        method: 'POST',
        ca: authority.cert,
        agent: false,
        ...client,
        headers,
      })
      sent.once('error', reject)
      sent.once('response', (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.end()
    })
  }

  const orders = '/v1/table/prod$orders/describe'

  it('a principal with a certificate has exactly the permissions of the policies', async () => {
    const { gateway, upstream } = await startGatewayAndUpstream(setup('optional'))
    expect(await ask(gateway.url, orders, good)).toBe(200)
    // Invisible objects get the 404 of a missing one.
    expect(await ask(gateway.url, '/v1/table/test$orders/describe', good)).toBe(404)
    expect(await ask(gateway.url, '/v1/table/prod$orders/drop', good)).toBe(403)
    expect(await ask(gateway.url, orders)).toBe(401)
    expect(await ask(gateway.url, orders, undefined, { 'x-api-key': gateway.key('dev') })).toBe(404)
    expect(await ask(gateway.url, orders, good, { 'x-api-key': gateway.key('dev') })).toBe(401)
    expect(upstream.requests).toHaveLength(1)
  })

  it('if it is required, TLS rejects an invalid one', async () => {
    const revoked = await authority.issue('revoked', `URI:${loader}`)
    const list = join(folder, 'revoked.pem')
    await writeFile(list, await authority.revocationList([revoked]))
    const { gateway, upstream } = await startGatewayAndUpstream(setup('required', list))
    const foreign = await makeAuthority(folder, 'foreign')
    const bad = [
      revoked,
      await foreign.issue('stranger', `URI:${loader}`),
      await authority.issue('expired', `URI:${loader}`, { days: -1 }),
    ]
    for (const certificate of bad) await expect(ask(gateway.url, orders, certificate)).rejects.toThrow()
    await expect(ask(gateway.url, orders)).rejects.toThrow()
    expect(upstream.requests).toEqual([])
    expect(await ask(gateway.url, orders, good)).toBe(200)
  })
})
