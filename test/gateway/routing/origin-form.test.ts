import { expect, it } from 'vitest'
import { toOriginForm } from '../../../src/gateway/stages/receive.ts'

it.each([
  ['http://g/v1/table?limit=1', 'g', 'http', '/v1/table?limit=1'],
  ['https://g:8443/v1/table', 'g:8443', 'https', '/v1/table'],
  ['http://[::1]:2333/', '[::1]:2333', 'http', '/'],
  ['/http://g/v1', 'other', 'http', '/http://g/v1'],
  ['*', 'g', 'http', '*'],
] as const)('%s for the host %s over %s is %s', (target, host, scheme, expected) => {
  expect(toOriginForm(target, host, scheme)).toBe(expected)
})

it('refuses http on a TLS listener', () => {
  expect(() => toOriginForm('http://g/v1/table', 'g', 'https')).toThrow('is "http"; expected "https"')
})
