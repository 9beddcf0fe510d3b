import { expect, it } from 'vitest'
import { formatTextLine } from '../../../src/observability/log/gateway-log.ts'

const time = '2026-01-02T03:04:05.678Z'
const clock = new Date(time).toTimeString().slice(0, 8)

it.each([
  [
    {
      level: 30,
      time,
      principal: 'ann',
      operation: 'QueryTable',
      id: ['hr', 'pay'],
      status: 200,
      durationMs: 1.26,
    },
    '200 QueryTable hr/pay by ann in 1.3 ms',
  ],
  [
    {
      level: 30,
      time,
      operation: 'openapi',
      status: 503,
      durationMs: 0.1,
      error: 'the gateway is overloaded',
    },
    '503 openapi in 0.1 ms: the gateway is overloaded',
  ],
  [{ level: 40, time, msg: 'circuit opened', upstream: 'lake' }, 'warn circuit opened upstream="lake"'],
  [
    {
      level: 30,
      time,
      principal: 'a\u001B[2J\u009B1A\nb',
      operation: 'QueryTable',
      status: 200,
      durationMs: 1,
    },
    '200 QueryTable by a [2J 1A b in 1.0 ms',
  ],
  [{ level: 50, time, msg: 'failed', err: { message: 'a\u202Eb' } }, 'error failed err={"message":"a b"}'],
])('%o is a line of text', (members, text) => {
  expect(formatTextLine(JSON.stringify(members))).toBe(`${clock} ${text}\n`)
})
