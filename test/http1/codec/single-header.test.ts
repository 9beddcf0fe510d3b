import { expect, it } from 'vitest'
import { findSingleHeader } from '../../../src/http1/codec/header-fields.ts'

it.each([
  [['a', '1', 'b', '2'], '2'],
  [['b', ''], ''],
  [['a', 'b'], undefined],
  [['b', '1', 'a', '0', 'b', '1'], undefined],
  [['b', '', 'b', ''], undefined],
])('the single value of b in %j is %j', (headers, value) =>
  expect(findSingleHeader(headers, 'b')).toBe(value),
)
