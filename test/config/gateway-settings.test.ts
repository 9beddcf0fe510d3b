import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { readGatewaySettings } from '../../src/config/gateway-settings.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readChanged } from './read-changed-settings.ts'

const least = {
  upstream: { url: 'https://catalog.example' },
  identity: { apiKeys: { store: 'keys.yaml', pepperFile: '../secrets/pepper' } },
  policies: { folder: 'policies' },
  audit: { folder: '/var/audit' },
}

it('the defaults are safe on a single machine', async () => {
  expect(await readChanged(least)).toMatchObject({
    listen: { host: '127.0.0.1', port: 2333 },
    admin: { host: '127.0.0.1', port: 2334 },
    upstreams: [{ name: 'catalog', delimiter: '$', timeouts: { totalTimeoutMs: 3_600_000 } }],
    identity: { issuers: [] },
    dialects: [],
    log: { level: 'info' },
  })
})

it('paths are relative to the file, not to the working directory', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'gateway.yaml')
  const issuer = { name: 'corp', issuer: 'https://corp.example', audience: 'catalog', algorithms: ['RS256'] }
  const settings = {
    ...least,
    upstream: {
      ...least.upstream,
      caFile: 'authority.pem',
      credential: { file: 'credential' },
    },
    identity: { ...least.identity, issuers: [{ ...issuer, jwks: { file: 'keys.json' } }] },
    limits: { shared: { url: 'redis://limits.example', passwordFile: 'password' } },
  }
  await writeFile(file, stringify(settings))
  const { upstreams, identity, policies, audit, limits } = await readGatewaySettings(file, {})
  expect(upstreams[0]?.caFile).toBe(join(folder, 'authority.pem'))
  expect(upstreams[0]?.credential?.file).toBe(join(folder, 'credential'))
  expect(identity.apiKeys).toEqual({
    store: join(folder, 'keys.yaml'),
    pepperFile: join(folder, '..', 'secrets', 'pepper'),
  })
  expect(identity.issuers[0]?.jwks).toEqual({ file: join(folder, 'keys.json') })
  expect(limits.shared?.passwordFile).toBe(join(folder, 'password'))
  expect([policies.folder, audit.folder]).toEqual([[join(folder, 'policies')], '/var/audit'])
})

const nested = ': sub-folders are read, too, so one would contain the policies of the other'

it.for<[folders: readonly string[], isNested: boolean]>([
  [['a', 'a/next'], true],
  [['a/live', 'a'], true],
  [['a', './a/'], true],
  [['a', 'b', 'b/stop'], true],
  [['a', '$FOLDER/a/stop'], true],
  [['..', '$FOLDER'], true],
  [['a', 'a-next', `${process.cwd()}/a/stop`], false],
])(
  'folders of policies are beside each other, as the gateway reads them: %j',
  async ([folders, isNested]) => {
    const folder = await temporaryFolder()
    const file = join(folder, 'gateway.yaml')
    const list = folders.map((each) => each.replace('$FOLDER', folder))
    await writeFile(file, stringify({ ...least, policies: { folder: list } }))
    const message = await readGatewaySettings(file, {}).then(
      () => '',
      (error: Error) => error.message,
    )
    expect(message.replace(/^.*?: policies\./, '')).toBe(
      isNested
        ? `folder: ${JSON.stringify(resolve(folder, list.at(-1) ?? ''))}: expected a folder beside the others${nested}`
        : '',
    )
  },
)

it('a list of policy folders may come from the environment', async () => {
  const environment = { CATALOG_GATEWAY__POLICIES__FOLDER: '[/a, /b]' }
  expect((await readChanged(least, environment)).policies.folder).toEqual(['/a', '/b'])
})

const identityPaths = {
  ...least.identity,
  kubernetes: { name: 'cluster', audience: 'catalog' },
  introspection: {
    name: 'opaque',
    url: 'https://corp.example/introspect',
    issuer: 'https://corp.example',
    audience: 'catalog',
    clientId: 'gateway',
    clientSecretFile: 'client-secret',
  },
  assertion: { issuer: 'https://gateway.example', keyFile: 'signing.pem' },
}

it('identity paths are relative to the file too', async () => {
  const { identity } = await readChanged({ ...least, identity: identityPaths })
  const folder = dirname(identity.apiKeys?.store ?? '')
  expect(identity.introspection?.clientSecretFile).toBe(join(folder, 'client-secret'))
  expect(identity.assertion?.keyFile).toBe(join(folder, 'signing.pem'))
  expect(identity.kubernetes?.issuer).toBe('https://kubernetes.default.svc.cluster.local')
})

const corp = { name: 'corp', issuer: 'https://corp.example', audience: 'catalog', algorithms: ['RS256'] }
const withIdentity = (changes: object): object => ({ identity: { ...identityPaths, ...changes } })
const { introspection, kubernetes } = identityPaths

it('one issuer may have signed and opaque tokens', async () => {
  const changes = { issuers: [corp], introspection: { ...introspection, name: 'corp' } }
  await expect(readChanged({ ...least, ...withIdentity(changes) })).resolves.toBeDefined()
})

const credential = { header: 'authorization', value: 'Bearer x', file: 'credential' }
const several = (...changes: object[]): object => ({
  upstream: undefined,
  upstreams: changes.map((change, index) => ({ ...least.upstream, name: `upstream-${index}`, ...change })),
})
const refused: [why: string, changes: object, message: RegExp][] = [
  ['no way to authenticate', { identity: {} }, /identity: no way to authenticate/],
  ['two credentials', { upstream: { ...least.upstream, credential } }, /expected either value or file/],
  ['no credential', { upstream: { ...least.upstream, credential: {} } }, /expected either value or file/],
  [
    'a password in a URL',
    { upstream: { url: 'https://me:secret@catalog' } },
    /upstream\.url: expected a URL without/,
  ],
  [
    'a query that would be lost',
    { upstream: { url: 'https://catalog?a=b' } },
    /upstream\.url: expected a URL/,
  ],
  [
    'an introspection that could name the principals of another issuer',
    withIdentity({
      issuers: [{ ...corp, issuer: 'https://other.example' }],
      introspection: { ...introspection, name: 'corp' },
    }),
    /identity\.introspection\.name: duplicate name of an identity source/,
  ],
  [
    'a cluster with the name of an issuer',
    withIdentity({ issuers: [corp], kubernetes: { ...kubernetes, name: 'corp' } }),
    /identity\.kubernetes\.name: duplicate name/,
  ],
  [
    'certificates with the name of an issuer',
    withIdentity({ issuers: [corp], clientCertificates: { name: 'corp' } }),
    /identity\.clientCertificates\.name: duplicate name/,
  ],
  [
    'assertions that nothing signs',
    { upstream: { ...least.upstream, identity: 'assertion' } },
    /upstream\.identity: expected identity\.assertion with the signing key/,
  ],
  [
    'the credential of the caller beside that of the gateway',
    { upstream: { ...least.upstream, identity: 'original', credential: { file: 'credential' } } },
    /upstream\.identity: expected none or assertion/,
  ],
  ['no upstream', { upstream: undefined }, /upstream: expected either upstream or upstreams/],
  ['both', { upstreams: [least.upstream] }, /upstream: expected either upstream or upstreams/],
  [
    'a certificate for plain HTTP',
    { upstream: { url: 'http://catalog', caFile: 'ca.pem' } },
    /upstream: expected an https URL/,
  ],
  [
    'a certificate without its key',
    { upstream: { ...least.upstream, clientCertificate: { certFile: 'a.pem' } } },
    /clientCertificate\.keyFile: /,
  ],
  [
    'two upstreams for the rest',
    several({}, {}),
    /upstreams: expected exactly one upstream without namespaces/,
  ],
  [
    'no upstream for the rest',
    several({ namespaces: [['a']] }, { namespaces: [['b']] }),
    /upstreams: expected exactly one upstream without namespaces/,
  ],
  [
    'a namespace at two upstreams',
    several({}, { namespaces: [['a', 'b']] }, { namespaces: [['c'], ['a', 'b']] }),
    /upstreams\.2\.namespaces\.1: \["a","b"\] is assigned to two upstreams/,
  ],
  ['the root as a namespace', several({}, { namespaces: [[]] }), /upstreams\.1\.namespaces\.0: /],
  [
    'a namespace that is no id',
    several({}, { namespaces: [['a/b']] }),
    /upstreams\.1\.namespaces\.0: .*"a\/b", contains "\/"/,
  ],
  [
    'two upstreams of one name',
    several({ name: 'lake' }, { name: 'lake', namespaces: [['a']] }),
    /upstreams\.1\.name: duplicate upstream name "lake"/,
  ],
  [
    'client certificates without a client CA',
    { listen: { tls: { certFile: 'c', keyFile: 'k', clientAuth: 'required' } } },
    /listen\.tls: expected clientCaFile/,
  ],
  [
    'a client CA without clientAuth',
    { listen: { tls: { certFile: 'c', keyFile: 'k', clientCaFile: 'a' } } },
    /listen\.tls: expected clientCaFile/,
  ],
  ...['console.example', 'https://console.example/', 'https://Console.example', 'null', '*'].map(
    (origin): (typeof refused)[number] => [
      `${origin} as an origin`,
      { crossSite: { allowedOrigins: [origin] } },
      /crossSite\.allowedOrigins\.0: expected an origin as browsers send it/,
    ],
  ),
  ...['Metrics.example', 'metrics.example:2334', '*.example', '..example', ''].map(
    (name): (typeof refused)[number] => [
      `"${name}" as a host name`,
      { admin: { allowedHosts: [name] } },
      /admin\.allowedHosts\.0: expected a host name in lower case/,
    ],
  ),
]

it.for(refused)('%s is refused', async ([, changes, message]) => {
  const refusal = readChanged({ ...least, ...changes })
  await expect(refusal).rejects.toThrow(message)
  await expect(refusal).rejects.not.toThrow(/secret/)
})
