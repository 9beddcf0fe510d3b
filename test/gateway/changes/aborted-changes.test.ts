import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { arrowStart } from '../../support/arrow-upload.ts'

it('the outcome of an Arrow stream that is cut, whose own end may have come before, is unknown', async () => {
  const bytes = 2 * 1024 * 1024
  const { gateway, upstream } = await startGatewayAndUpstream({
    adjust: (settings) => ({ ...settings, limits: { ...settings.limits, maxArrowBytes: bytes } }),
  })
  const chunks = [Buffer.concat([arrowStart, Buffer.alloc(bytes / 2, 'x')]), Buffer.alloc(bytes, 'x')]
  const response = await gateway.post('/v1/table/orders/insert', {
    body: Readable.from(chunks, { objectMode: false }),
  })
  expectError(response, { kind: 'InvalidInput', status: 413, says: 'larger than' })
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
  expect(upstream.requests).toHaveLength(1)
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result: 'unknown', details: { reason: 'body_too_large' } }])
})
