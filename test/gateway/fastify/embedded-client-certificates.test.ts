import { once } from 'node:events'
import { request } from 'node:https'
import fastify, { type FastifyInstance } from 'fastify'
import { expect, it } from 'vitest'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startApplication } from './embedded-application.ts'

/** Fastify types an application over TLS differently; plugins take the usual type. */
function createTlsApplication({ cert, key }: TestCertificate, { cert: ca }: TestAuthority): FastifyInstance {
  const app: unknown = fastify({ https: { cert, key, ca, requestCert: true, rejectUnauthorized: false } })
  return app as FastifyInstance
}

it.skipIf(!hasOpenssl())('client certificates are those of the TLS server of the application', async () => {
  const authority = await makeAuthority(await temporaryFolder(), 'own')
  const server = await authority.issue('server', 'IP:127.0.0.1', { usage: 'serverAuth' })
  const client = await authority.issue('client', 'URI:spiffe://a/b', { usage: 'clientAuth' })
  const app = createTlsApplication(server, authority)
  const principals: (string | undefined)[] = []
  app.addHook('onResponse', (sent, _reply, done) => {
    principals.push(sent.catalogPrincipal?.name)
    done()
  })
  const { url } = await startApplication({
    app,
    settings: { identity: { clientCertificates: { name: 'mesh' } } },
  })
  const post = async (certificate?: TestCertificate) => {
    const own = certificate && { cert: certificate.cert, key: certificate.key }
    const sent = request(`${url}/catalog/v1/table/a/describe`, {
      method: 'POST',
      ca: authority.cert,
      agent: false,
      ...own,
    })
    sent.end()
    const [response] = await once(sent, 'response')
    response.resume()
    await once(response, 'end')
    return response.statusCode
  }
  expect(await post()).toBe(401)
  expect(await post(client)).toBe(403)
  await eventually(() => expect(principals).toEqual([undefined, 'mesh:spiffe://a/b']))
})
