import { expect, it } from 'vitest'
import { createAdminServer } from '../../../src/observability/health/admin-server.ts'

it.each([
  ['', 200],
  ['localhost:1', 200],
  ['192.0.2.1', 200],
  ['attacker.example', 403],
])('a request to the host %j gets %i', async (host, status) => {
  const server = createAdminServer([], [], { host: '127.0.0.1', allowedHosts: [] })
  expect(await server.inject({ url: '/livez', headers: { host } })).toMatchObject({ statusCode: status })
})
