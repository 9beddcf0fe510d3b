import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/audit/records/audit-record.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { countRefusals } from '../support/count-refusals.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { eventually } from '../../support/eventually.ts'

it('a request without a credential is 401, with a wrong one too', async () => {
  const { port, application } = await startGatewayWithRoute()
  for (const as of [null, 'wrong']) {
    expectError(await port.get('/ui', { as }), { kind: 'Unauthenticated', says: /credential|key/ })
  }
  expect(application.requests).toEqual([])
})

it('a caller that the rule does not name is 403, and audited with the route', async () => {
  const { gateway, port, application } = await startGatewayWithRoute({ users: ['mallory'] })
  const refused = await port.get('/ui/secret', { as: 'mallory' })
  expectError(refused, { kind: 'PermissionDenied', says: 'you are not allowed to use "/ui"' })
  expect(application.requests).toEqual([])
  expect(await countRefusals(gateway, 'no_rule')).toBe(1)
  await eventually(async () =>
    expect(await gateway.recorded('refusal')).toMatchObject([
      {
        status: 403,
        reason: 'no_rule',
        principal: { name: 'mallory' },
        details: { prefix: '/ui', method: 'GET' },
      },
    ]),
  )
})

it('any: true allows every authenticated caller, and none without a credential', async () => {
  const { port } = await startGatewayWithRoute({
    route: { allow: { any: true } },
    users: ['mallory'],
    settings: { identity: { anonymous: true } },
  })
  expect((await port.get('/ui', { as: 'mallory' })).status).toBe(200)
  expect((await port.get('/ui', { as: null })).status).toBe(401)
})

it('anyone allows requests without a credential, and does not look at one', async () => {
  const { port, application } = await startGatewayWithRoute({ route: { allow: 'anyone' } })
  for (const as of [null, 'wrong']) expect((await port.get('/ui', { as })).status).toBe(200)
  expect(application.requests.flatMap(({ rawHeaders }) => rawHeaders)).not.toContain('x-api-key')
})

it.for(['POST', 'OPTIONS', 'DELETE'] as const)('%s is 405 unless the route names it', async (method) => {
  const { port, application } = await startGatewayWithRoute()
  const refused = await port.send(method, '/ui')
  expectError(refused, { kind: 'Unsupported', status: 405, says: 'use GET, HEAD' })
  expect(refused.headers['allow']).toBe('GET, HEAD')
  expect(application.requests).toEqual([])
})

it('a change is in the audit log before the upstream gets it; a read is not', async () => {
  const { gateway, port, application } = await startGatewayWithRoute({ route: { methods: ['GET', 'POST'] } })
  let before: AuditRecord[] = []
  application.handler = async (_, response) => {
    before = await gateway.recorded('passThrough')
    response.writeHead(204).end()
  }
  await port.get('/ui/jobs')
  expect(before).toEqual([])
  await port.post('/ui/jobs?token=secret', { body: { a: 1 }, headers: { 'x-request-id': 'r1' } })
  expect(before).toMatchObject([
    { request: 'r1', prefix: '/ui', method: 'POST', path: '/console/jobs', principal: { name: 'dev' } },
  ])
  expect(JSON.stringify(before)).not.toContain('secret')
  await gateway.stop()
  expect(await verifyAuditLog(gateway.auditFolder)).toMatchObject({ ok: true, unresolved: 0 })
})

it('a change is 503 and not forwarded while the audit log cannot be written', async () => {
  const { gateway, port, application } = await startGatewayWithRoute({ route: { methods: ['GET', 'POST'] } })
  await rm(gateway.auditFolder, { recursive: true })
  expect((await port.get('/ui')).status).toBe(200)
  expect((await port.post('/ui', { body: {} })).status).toBe(503)
  expect(application.requests).toHaveLength(1)
})

it('requests are counted as PassThrough', async () => {
  const { gateway, port } = await startGatewayWithRoute()
  await port.get('/ui/a')
  await port.get('/ui/b', { as: null })
  const metrics = await gateway.metrics()
  const counted = [...metrics.matchAll(/^catalog_gateway_requests_total\{(.*)\} (\d+)$/gm)]
  expect(new Set(counted.map(([, labels]) => labels))).toEqual(
    new Set([
      'operation="PassThrough",status="200",decision="allow"',
      'operation="PassThrough",status="401",decision="none"',
    ]),
  )
})

it.for([
  ['a head without a host', ['GET /ui HTTP/1.1', 'connection: close'], 400],
  [
    'a repeated credential',
    ['GET /ui HTTP/1.1', 'host: g', 'x-api-key: a', 'x-api-key: b', 'connection: close'],
    400,
  ],
  ['a target that cannot be decoded', ['GET /ui/%ff HTTP/1.1', 'host: g', 'connection: close'], 400],
  ['a method that nothing allows', ['PROPFIND /ui HTTP/1.1', 'host: g', 'connection: close'], 405],
] as const)('%s is an error in the shape of the interface', async ([, lines, status]) => {
  const { port, application } = await startGatewayWithRoute()
  const text = (await readRaw(port.url, rawRequest(lines))).toString()
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*x-request-id: [^]*"instance":`, 'i'))
  expect(application.requests).toEqual([])
})
