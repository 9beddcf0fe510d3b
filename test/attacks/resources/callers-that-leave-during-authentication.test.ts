import type { ServerResponse } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { introspectionSchema } from '../../../src/config/identity/introspection-settings.ts'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'
import { startServer } from '../../identity/jwt/token-issuer.ts'
import { eventually } from '../../support/eventually.ts'

// The connection of a route was taken after the client had left, so nothing released it.

const maxConnections = 2
const token = { active: true, iss: 'https://corp.example', aud: 'catalog', sub: 'mallory' }

function verify(response: ServerResponse): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(token))
}

it('a caller that leaves while its token is verified holds no connection of the route', async () => {
  const held: ServerResponse[] = []
  let holds = true
  const server = await startServer((_, response) => void (holds ? held.push(response) : verify(response)))
  onTestFinished(() => server.stop())
  const { gateway, application } = await startGatewayWithRoute({
    route: { allow: { any: true }, maxConnections },
    tuning: { queueTimeoutMs: 50 },
    adjust: async (settings, folder) => {
      const clientSecretFile = join(folder, 'client-secret')
      await writeFile(clientSecretFile, 'secret')
      const introspection = introspectionSchema.parse({
        name: 'corp',
        url: server.url,
        issuer: token.iss,
        audience: token.aud,
        clientId: 'gateway',
        clientSecretFile,
      })
      return { ...settings, identity: { ...settings.identity, introspection } }
    },
  })
  const get = (bearer: number, signal?: AbortSignal) =>
    gateway.get('/ui', {
      as: null,
      headers: { authorization: `Bearer token-${bearer}` },
      ...(signal && { signal }),
    })
  const client = new AbortController()
  const left = Array.from({ length: 2 * maxConnections }, (_, bearer) =>
    get(bearer, client.signal).catch(() => undefined),
  )
  await eventually(() => expect(held).toHaveLength(2 * maxConnections))
  client.abort()
  await Promise.all(left)
  // The gateway has seen the closed connections when it responds.
  expect(await gateway.get('/ui')).toMatchObject({ status: 200 })
  holds = false
  held.forEach(verify)
  expect(await get(2 * maxConnections)).toMatchObject({ status: 200 })
  expect(application.requests).toHaveLength(2)
})
