import { expect, it } from 'vitest'
import { sinksSchema } from '../../../src/audit/sinks/sink-settings.ts'

const http = { name: 'a', type: 'http', url: 'https://siem.example/in' }
const kafka = { name: 'a', type: 'kafka', brokers: ['b:9092'], topic: 'audit' }

it.each([
  ['two of one name', [http, http], 'there are two sinks of the name "a"'],
  ['a name that is no file name', [{ ...http, name: '../a' }], 'pattern'],
  ['an unknown type', [{ ...http, type: 'syslog' }], 'Invalid discriminator'],
  ['an unknown key', [{ ...http, topic: 'audit' }], 'topic'],
  [
    'a password in the URL',
    [{ ...http, url: 'https://u:p@siem.example/' }],
    'what authenticates is `credential`',
  ],
  [
    'an authority without TLS',
    [{ ...http, url: 'http://a/', certificateAuthority: 'ca.pem' }],
    'expected an https',
  ],
  ['a broker without a port', [{ ...kafka, brokers: ['b'] }], 'expected host:port'],
  [
    'pauses that shrink',
    [{ ...http, retry: { minimumMs: 2, maximumMs: 1 } }],
    'expected minimumMs to be at most',
  ],
])('%s is a mistake', (_, sinks, message) => {
  const issues = sinksSchema.safeParse(sinks).error?.issues ?? []
  expect(issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join()).toContain(message)
})

it('what is not told has a bounded default', () => {
  expect(sinksSchema.parse([kafka])).toMatchObject([
    {
      format: 'json',
      timeoutMs: 10_000,
      batch: { records: 500, bytes: 1_048_576 },
      retry: { maximumMs: 60_000 },
    },
  ])
})
