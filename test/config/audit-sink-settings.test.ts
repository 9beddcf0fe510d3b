import { expect, it } from 'vitest'
import { sinksSchema } from '../../src/config/audit/audit-sink-settings.ts'

const http = { name: 'a', type: 'http', url: 'https://siem.example/in' }
const kafka = { name: 'a', type: 'kafka', brokers: ['b:9092'], topic: 'audit' }

it.each([
  ['two of one name', [http, http], 'duplicate sink name "a"'],
  ['a name that is no file name', [{ ...http, name: '../a' }], 'pattern'],
  ['an unknown type', [{ ...http, type: 'syslog' }], 'Invalid discriminator'],
  ['an unknown key', [{ ...http, topic: 'audit' }], 'topic'],
  [
    'a password in the URL',
    [{ ...http, url: 'https://u:p@siem.example/' }],
    'set `credential` to authenticate',
  ],
  ['an authority without TLS', [{ ...http, url: 'http://a/', caFile: 'ca.pem' }], 'expected an https'],
  [
    'a client certificate without TLS',
    [{ ...http, url: 'http://a/', clientCertificate: { certFile: 'a.pem', keyFile: 'a.key' } }],
    'expected an https',
  ],
  ['a header of HTTP itself', [{ ...http, headers: [{ name: 'host', value: 'a' }] }], 'does not set'],
  ['a header without a value', [{ ...http, headers: [{ name: 'x-a' }] }], 'expected either value or file'],
  [
    'a header with a line break',
    [{ ...http, headers: [{ name: 'x-a', value: 'a\r\nb: c' }] }],
    'headers.0.value',
  ],
  [
    'a header twice',
    [{ ...http, credential: { file: 'a' }, headers: [{ name: 'authorization', value: 'a' }] }],
    'expected each header once',
  ],
  ['a broker without a port', [{ ...kafka, brokers: ['b'] }], 'expected host:port'],
  [
    'pauses that shrink',
    [{ ...http, retry: { minBackoffMs: 2, maxBackoffMs: 1 } }],
    'expected minBackoffMs to be at most',
  ],
])('%s is an error', (_, sinks, message) => {
  const issues = sinksSchema.safeParse(sinks).error?.issues ?? []
  expect(issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join()).toContain(message)
})

it('all limits have bounded defaults', () => {
  expect(sinksSchema.parse([kafka])).toMatchObject([
    {
      format: 'json',
      timeoutMs: 10_000,
      retry: { maxBackoffMs: 60_000 },
    },
  ])
})
