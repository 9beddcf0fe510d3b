import { expect, it } from 'vitest'
import { gatewaySettingsSchema } from '../../src/config/gateway-settings.ts'
import { readSettings, SettingsError } from '../../src/settings/read-settings.ts'

const valid = [
  'upstream: { url: https://catalog.example }',
  'identity: { anonymous: true }',
  'policies: { folder: policies }',
  'audit: { folder: audit }',
]

/** The errors of valid settings with these lines before them; `changes` replaces the lines of the same section. */
function errorsIn(lines: readonly string[], environment: Record<string, string> = {}): string[] {
  const sections = new Set(lines.map((line) => line.split(':')[0]))
  const others = valid.filter((line) => !sections.has(line.split(':')[0]))
  try {
    readSettings(gatewaySettingsSchema, {
      file: 'g.yaml',
      text: [...lines, ...others].join('\n'),
      environment,
    })
  } catch (error) {
    if (error instanceof SettingsError) return error.message.split('\n')
    throw error
  }
  return []
}

const url = 'upstream: { url: https://catalog.example }'
const mesh = 'identity: { clientCertificates: { name: mesh } }'

it.each<[lines: readonly string[], error: string]>([
  [['upstrem: {}'], 'g.yaml:1:1: upstrem: unknown setting; did you mean "upstream"?'],
  [['listen:', '  ports: 1'], 'g.yaml:2:3: listen.ports: unknown setting; did you mean "port"?'],
  [
    ['upstreams:', '  - { name: a, urls: "https://a" }', 'upstream:'],
    'upstreams.0.urls: unknown setting; did you mean "url"?',
  ],
  [['listen:', '\tport: 1'], 'g.yaml:2:1: unexpected tab; indent with spaces'],
  [['listen:', '  port:1', '  host: a'], 'g.yaml:2:3: port: expected a space after the colon'],
  [['log: {}', 'log: {}'], 'g.yaml:2:1: log: duplicate key'],
  [
    ['audit: { folder: audit, retention: { maxAge: 90d } }'],
    'audit.retention.maxAge: unknown setting; the settings here are maxAgeDays, maxBytes',
  ],
  [
    ['identity: { issuers: [{ name: a, issuer: "https://a", audience: a, algorithms: [rs256] }] }'],
    'identity.issuers.0.algorithms.0: expected asymmetric algorithms only, in this spelling: ' +
      'RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519',
  ],
  [['listen: { port: abc }'], 'g.yaml:1:11: listen.port: expected a number, received "abc"'],
  [
    ['timeouts: { drainTimeoutMs: soon }'],
    'g.yaml:1:13: timeouts.drainTimeoutMs: expected a number of milliseconds, or a value with a unit such as 30s, received "soon"',
  ],
  [
    [`limits: { rates: [{ name: a, per: all, perSecond: 1, namespaces: [[b], ['prod$sales']] }] }`],
    'limits.rates.0.namespaces.1: "prod$sales" contains "$", which separates names; expected ["prod", "sales"]',
  ],
  [
    ['limits: { concurrency: [{ name: a, per: all, maxRequests: 1, namespaces: [[..]] }] }'],
    'limits.concurrency.0.namespaces.0: a part of the id is ".."',
  ],
  [
    [
      'upstream: { url: https://a, delimiter: "." }',
      `limits: { rates: [{ name: a, per: all, perSecond: 1, namespaces: [['prod.sales']] }] }`,
    ],
    'limits.rates.0.namespaces.0: "prod.sales" contains ".", which separates names; expected ["prod", "sales"]',
  ],
  [['timeouts: { drainTimeoutMs: "30" }'], 'or a value with a unit such as 30s, received "30"'],
  [['timeouts: { drainTimeoutMs: 0s }'], 'drainTimeoutMs: expected more than 0 milliseconds, received "0s"'],
  [['timeouts: { drainTimeoutMs: 99d }'], 'expected at most 2147483647 milliseconds, received "99d"'],
  [['limits: { maxJsonBytes: 8 parsecs }'], 'value with a unit such as 64MiB, received "8 parsecs"'],
  [['limits: { maxJsonBytes: -1 }'], 'limits.maxJsonBytes: expected more than 0 bytes, received -1'],
  [
    ['audit: { folder: audit, retention: { maxAgeDays: 36h } }'],
    'expected a whole number of days, or a value with a unit such as 30d, received "36h"',
  ],
  [['listen: { port: 70000 }'], 'listen.port: expected at most 65535, received 70000'],
  [['listen: { port: 1.5 }'], 'listen.port: expected a whole number, received 1.5'],
  [['log: { level: wran }'], '"debug" or "silent", received "wran"'],
  [["audit: { folder: '' }"], 'audit.folder: expected text that is not empty'],
  [
    ['audit: { folder: a, sinks: [{ type: stdot, name: a }] }'],
    'g.yaml:1:31: audit.sinks.0.type: expected "stdout" or "otlp", received "stdot"; did you mean "stdout"?',
  ],
  [
    ['audit: { folder: a, sinks: [{ name: a }] }'],
    'audit.sinks.0.type: is missing; expected "stdout" or "otlp"',
  ],
  [['admin: { console: yes }'], 'admin.console: expected true or false, received "yes"'],
  [['identity:'], 'g.yaml:1:1: identity: expected a section with settings, received nothing'],
  [['audit: audit'], 'audit: expected a section with settings, received text'],
  [
    ['policies: { kubernetes: { namespaces: [{ name: catalog-system, platform: true }] } }'],
    'policies.folder: is missing; expected a folder of policies, or a list of folders',
  ],
  [['upstream: {}'], 'upstream.url: is missing; expected a URL with its scheme'],
  [
    ['upstream: { url: catalog.example }'],
    'g.yaml:1:13: upstream.url: expected a URL with its scheme, such as https://catalog.example:8443',
  ],
  [
    ['passThrough: { port: 2333, routes: [{ prefix: /ui, upstream: https://ui.example, allow: anyone }] }'],
    'passThrough.port: port 2333 is that of listen; expected another one',
  ],
  ...['toString', 'constructor', '__proto__'].map((name): [string[], string] => [
    [`limits: { rates: [{ name: a, per: all, perSecond: 1, operations: [${name}] }] }`],
    'limits.rates.0.operations.0: expected an operation, or a group of them as in policies',
  ]),
  [["listen: { host: '[::]' }"], 'g.yaml:1:11: listen.host: expected an address without brackets: "::"'],
  [['listen: { host: 0.0.0.0:80 }'], 'listen.host: expected an IP address or a host name, without a port'],
  [["listen: { host: '' }"], 'listen.host: expected an IP address'],
  [['listen: { port: 2334 }'], 'admin.port: port 2334 is that of listen; expected another one'],
  [
    ['listen: { port: 80, host: localhost }', "admin: { port: 80, host: '127.0.0.1' }"],
    'admin.port: port 80',
  ],
  [['upstream: { url: http://localhost:2333 }'], 'upstream.url: is the address of this gateway (listen)'],
  [
    ['upstream: { url: http://127.0.0.1:2334/lance }'],
    'upstream.url: is the address of this gateway (admin)',
  ],
  [
    ["listen: { host: '::' }", "upstream: { url: 'http://[::1]:2333' }"],
    'upstream.url: is the address of this',
  ],
  [
    ['upstream: { url: https://a, credential: { value: s3cret-token } }'],
    'upstream.credential.value: has no scheme; expected a value such as "Bearer TOKEN"',
  ],
  [
    ['listen: { trustedProxies: [10.0.0.0/33] }'],
    'listen.trustedProxies.0: "10.0.0.0/33" is not an address or a range',
  ],
  [
    ["listen: { trustedProxies: ['::ffff:10.0.0.0/104'] }"],
    'expected an IPv4 range in place of an IPv4-mapped one',
  ],
  [
    ['listen: { clientCertificateFrom: client-cert }', mesh],
    'g.yaml:1:11: listen.clientCertificateFrom: expected listen.trustedProxies',
  ],
  [
    ['listen: { clientCertificateFrom: xfcc }'],
    'listen.clientCertificateFrom: expected "client-cert" or "x-forwarded-client-cert", received "xfcc"',
  ],
  [
    ['listen: { clientCertificateFrom: client-cert, trustedProxies: [10.0.0.1] }'],
    'listen.clientCertificateFrom: expected identity.clientCertificates',
  ],
  ...['optional', 'required'].map((clientAuth): [string[], string] => [
    [
      'listen:',
      '  trustedProxies: [10.0.0.1]',
      '  clientCertificateFrom: client-cert',
      `  tls: { certFile: a, keyFile: b, clientAuth: ${clientAuth}, clientCaFile: c }`,
      mesh,
    ],
    'g.yaml:3:3: listen.clientCertificateFrom: unexpected with listen.tls.clientAuth',
  ]),
  [[mesh], 'identity.clientCertificates: expected listen.tls.clientAuth'],
])('%j is refused', (lines, error) => {
  expect(errorsIn(lines)).toContainEqual(expect.stringContaining(error))
  expect(errorsIn(lines).join('\n')).not.toMatch(/s3cret|Invalid |Too small|Too big/)
})

it.each([
  [['timeouts: { drainTimeoutMs: 2 m, keepAliveTimeoutMs: 11m }']],
  [['limits: { maxJsonBytes: 8MiB, maxArrowBytes: 1.5 GiB }']],
  [['upstream: { url: https://a, timeouts: { totalTimeoutMs: 5s } }']],
  [['audit: { folder: audit, retention: { maxAgeDays: 48h } }']],
  [['listen: { port: 0 }', 'admin: { port: 0 }']],
  [["listen: { port: 80, host: '127.0.0.1' }", "admin: { port: 80, host: '127.0.0.2' }"]],
  [["listen: { host: '::' }"]],
  [['listen: { host: gateway-0.gateway.svc }']],
  [['upstream: { url: http://127.0.0.1:2335 }']],
  [['upstream: { url: http://catalog:2333 }']],
  [['upstream: { url: https://a, credential: { header: x-api-key, value: s3cret } }']],
  [['upstream: { url: https://a, credential: { value: "Basic YTpi" } }']],
  [["listen: { trustedProxies: [10.0.0.1, 'fd00::1', 192.0.2.0/24] }"]],
  [['listen: { trustedProxies: [10.0.0.1], clientCertificateFrom: x-forwarded-client-cert }', mesh]],
  [
    [
      'listen:',
      '  trustedProxies: [10.0.0.1]',
      '  clientCertificateFrom: client-cert',
      '  tls: { certFile: a, keyFile: b }',
      mesh,
    ],
  ],
])('%j is accepted', (lines) => {
  expect(errorsIn(lines)).toEqual([])
})

it('an empty name in a namespace of an upstream is reported once', () => {
  const upstreams = [
    'upstreams:',
    "  - { name: a, url: 'https://a', namespaces: [['']] }",
    "  - { name: b, url: 'https://b' }",
  ]
  const errors = errorsIn([...upstreams, 'upstream:']).filter((error) => error.includes('upstreams.'))
  expect(errors).toEqual(['g.yaml:2:34: upstreams.0.namespaces.0: a part of the id is empty: [""]'])
})

it('variables with other underscores or a misspelling are refused, and those of Services in Kubernetes are not', () => {
  expect(
    errorsIn([url], {
      CATALOG_GATEWAY_LISTEN_PORT: '4444',
      CATALOG_GATEWAY__LISTEN_HOST: '::',
      CATALOG_GATEWAY_LISEN_HOST: '::',
      CATALOG_GATEWAY_ADMIN_PORT: 'tcp://10.0.0.1:2334',
      CATALOG_GATEWAY_SERVICE_PORT: '2333',
      CATALOG_GATEWAY_PORT_2334_TCP_PORT: '2334',
      CATALOG_GATEWAY_ADMIN_SERVICE_HOST: '10.0.0.1',
      CATALOG_GATEWAY_PORT: 'tcp://10.0.0.1:2333',
    }),
  ).toEqual([
    'environment: CATALOG_GATEWAY_LISTEN_PORT is not a setting; did you mean "CATALOG_GATEWAY__LISTEN__PORT"?',
    'environment: CATALOG_GATEWAY__LISTEN_HOST is not a setting; did you mean "CATALOG_GATEWAY__LISTEN__HOST"?',
    'environment: CATALOG_GATEWAY_LISEN_HOST is not a setting; did you mean "CATALOG_GATEWAY__LISTEN__HOST"?',
  ])
})
