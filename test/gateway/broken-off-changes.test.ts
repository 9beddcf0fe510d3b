import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../audit/entries.ts'
import { expectError } from './expect-error.ts'
import { gatewayAndUpstream } from './running-gateway.ts'

it.each([
  ['an Arrow stream, whose own end may have come before, is unknown', '/v1/table/orders/insert', 'unknown'],
  ['JSON, which is nothing without its end, is nothing', '/v1/table/orders/update', 'failed'],
])('what becomes of %s', async (_what, target, result) => {
  const bytes = 2 * 1024 * 1024
  const { gateway, upstream } = await gatewayAndUpstream({
    adjust: (settings) => ({
      ...settings,
      limits: { ...settings.limits, jsonBytes: 1024, streamedJsonBytes: bytes, arrowBytes: bytes },
    }),
  })
  const pieces = [`{"predicate":"${'x'.repeat(bytes / 2)}`, 'x'.repeat(bytes)].map((text) =>
    Buffer.from(text),
  )
  const answer = await gateway.post(target, { body: Readable.from(pieces, { objectMode: false }) })
  expectError(answer, { kind: 'InvalidInput', status: 413, says: 'larger than' })
  await expect(upstream.arrivals[0]?.body).rejects.toThrow('aborted')
  expect(upstream.arrivals).toHaveLength(1)
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result, details: { reason: 'body_too_large' } }])
})
