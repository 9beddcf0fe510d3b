import { expect, it } from 'vitest'
import { sinksSchema } from '../../src/config/audit-settings.ts'

const otlp = { name: 'a', type: 'otlp', url: 'https://collector.example/v1/logs' }

it.each([
  ['two of one name', [otlp, otlp], 'duplicate sink name "a"'],
  ['a name that is no file name', [{ ...otlp, name: '../a' }], 'lower-case letters'],
  ['an unknown type', [{ ...otlp, type: 'syslog' }], 'Invalid discriminator'],
  ['an unknown key', [{ ...otlp, topic: 'audit' }], 'topic'],
  [
    'a password in the URL',
    [{ ...otlp, url: 'https://u:p@collector.example/' }],
    'set `credential` to authenticate',
  ],
  ['an authority without TLS', [{ ...otlp, url: 'http://a/', caFile: 'ca.pem' }], 'expected an https'],
  [
    'a client certificate without TLS',
    [{ ...otlp, url: 'http://a/', clientCertificate: { certFile: 'a.pem', keyFile: 'a.key' } }],
    'expected an https',
  ],
])('%s is an error', (_, sinks, message) => {
  const issues = sinksSchema.safeParse(sinks).error?.issues ?? []
  expect(issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join()).toContain(message)
})
