import { expect, it } from 'vitest'
import { LimitExceeded, limitFailedAuthentications } from '../../src/limits/limits.ts'

it('concurrent failures block their address no longer than a single one', () => {
  const authentications = limitFailedAuthentications({ perSecond: 0.01 })
  const client = '192.0.2.7'
  for (let count = 0; count < 50; count += 1) authentications.assertAllowed(client)
  for (let count = 0; count < 50; count += 1) authentications.recordFailure(client)
  let refusal: unknown
  try {
    authentications.assertAllowed(client)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(LimitExceeded)
  expect(Number((refusal as LimitExceeded).headers['retry-after'])).toBeLessThanOrEqual(100)
  expect(() => authentications.assertAllowed('192.0.2.8')).not.toThrow()
})
