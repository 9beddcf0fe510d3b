import { expect, it } from 'vitest'
import { changeMembers } from '../../../src/gateway/restrictions/restrict-request.ts'

const changes = new Map<string, unknown>([
  ['filter', 'a'],
  ['columns', undefined],
])

it.each([
  ['', '{"filter":"a"}'],
  ['null', '{"filter":"a"}'],
  [' null\n', '{"filter":"a"}'],
  ['{}', '{"filter":"a"}'],
  [' { } ', ' {"filter":"a" } '],
  ['{"k":18446744073709551615}', '{"filter":"a","k":18446744073709551615}'],
  ['{"filter":"b","columns":["c"],"x":{"filter":"d"}}', '{"filter":"a","x":{"filter":"d"}}'],
  ['{"fil\\u0074er":"b","colum\\u006es":null}', '{"filter":"a"}'],
])('%j becomes %j', (body, changed) => {
  expect(changeMembers(Buffer.from(body), changes).toString()).toBe(changed)
})

it('an incomplete body is refused', () => {
  expect(() => changeMembers(Buffer.from('{"k":1'), changes)).toThrow(/JSON/)
})
