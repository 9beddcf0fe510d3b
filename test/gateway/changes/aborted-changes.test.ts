import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
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
      limits: { ...settings.limits, maxJsonBytes: 1024, maxStreamedJsonBytes: bytes, maxArrowBytes: bytes },
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
