import { expect, it } from 'vitest'
import { limitFailedAuthentications } from '../../src/limits/failed-authentications.ts'
import { LimitReached } from '../../src/limits/limit-reached.ts'

it('credentials that were looked at side by side shut their address for no longer than one does', () => {
  const authentications = limitFailedAuthentications({ perSecond: 0.01, burst: 3 })
  const client = '192.0.2.7'
  for (let count = 0; count < 50; count += 1) authentications.assertMayTry(client)
  for (let count = 0; count < 50; count += 1) authentications.failed(client)
  let refusal: unknown
  try {
    authentications.assertMayTry(client)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(LimitReached)
  expect(Number((refusal as LimitReached).headers['retry-after'])).toBeLessThanOrEqual(100)
  expect(() => authentications.assertMayTry('192.0.2.8')).not.toThrow()
})
