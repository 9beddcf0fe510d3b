import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { arrowStart } from '../../support/arrow-upload.ts'

it.each([
  [
    'an Arrow stream, whose own end may have come before, is unknown',
    '/v1/table/orders/insert',
    'unknown',
    arrowStart,
  ],
  [
    'JSON, which is nothing without its end, is nothing',
    '/v1/table/orders/update',
    'failed',
    '{"predicate":"',
  ],
])('the outcome of %s', async (_what, target, result, start) => {
  const bytes = 2 * 1024 * 1024
  const { gateway, upstream } = await startGatewayAndUpstream({
    adjust: (settings) => ({
      ...settings,
      limits: { ...settings.limits, maxJsonBytes: 1024, maxArrowBytes: bytes },
    }),
  })
  const chunks = [Buffer.concat([Buffer.from(start), Buffer.alloc(bytes / 2, 'x')]), Buffer.alloc(bytes, 'x')]
  const response = await gateway.post(target, { body: Readable.from(chunks, { objectMode: false }) })
  expectError(response, { kind: 'InvalidInput', status: 413, says: 'larger than' })
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
  expect(upstream.requests).toHaveLength(1)
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result, details: { reason: 'body_too_large' } }])
})

const document = `{"predicate":"${'x'.repeat(20_000)}"}`

it.each([
  ['a second value', '{}', 'not valid JSON', 'malformed_body'],
  ['a byte that JSON cannot have', '\0', 'not valid JSON', 'malformed_body'],
  ['white space above the limit', ' '.repeat(65_536), 'larger than', 'body_too_large'],
])('JSON with %s behind it never completes at the upstream', async (_what, behind, says, reason) => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    adjust: (settings) => ({
      ...settings,
      limits: { ...settings.limits, maxJsonBytes: 1024, maxArrowBytes: 65_536 },
    }),
  })
  let received = ''
  upstream.answering = (arrival, response, request) => {
    request.on('data', (chunk: Buffer) => (received += String(chunk)))
    return respondWith(200, {})(arrival, response, request)
  }
  async function* body(): AsyncGenerator<string> {
    yield document
    while (received.length < document.length - 1) {
      yield ' '
      await pause(5)
    }
    yield behind
  }
  const response = await gateway.post('/v1/table/orders/delete', { body: Readable.from(body()) })
  expectError(response, { kind: 'InvalidInput', status: reason === 'body_too_large' ? 413 : 400, says })
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
  expect(received).toBe(document.slice(0, -1))
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result: 'failed', details: { reason } }])
})
