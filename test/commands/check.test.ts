import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { lockFile } from '../../src/lib/index.ts'
import { listenLocally } from '../support/local-server.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const policy = {
  apiVersion: 'catalog-gateway/v1',
  kind: 'AccessPolicy',
  metadata: { name: 'everybody' },
  namespace: [],
  rules: [{ id: 'read', effect: 'allow', subjects: { any: true }, operations: ['read'] }],
}

/** Creates a folder with all files that its settings name. */
async function configuredFolder() {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'everybody.yaml'), stringify(policy))
  const files = ['--store', join(folder, 'keys.yaml'), '--pepper-file', join(folder, 'pepper')]
  await runCommand(['keys', 'create', ...files, '--principal', 'ada'])
  const file = join(folder, 'gateway.yaml')
  const write = (changes: object = {}) =>
    writeFile(
      file,
      stringify({
        upstream: { url: 'https://catalog.example', credential: { value: 'Bearer of-the-file' } },
        identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
        policies: { folder: 'policies' },
        audit: { folder: 'audit' },
        ...changes,
      }),
    )
  await write()
  const ports = { CATALOG_GATEWAY__LISTEN__PORT: '0', CATALOG_GATEWAY__ADMIN__PORT: '0' }
  const check = (environment = {}) =>
    runCommand(['check', '--config', file], { environment: { ...ports, ...environment } })
  return { folder, file, write, check }
}

it('valid settings are printed with all defaults and environment values, without secrets', async () => {
  const { folder, check } = await configuredFolder()
  const { status, output, messages } = await check({ CATALOG_GATEWAY__LISTEN__PORT: '4444' })
  expect({ status, messages }).toEqual({ status: 0, messages: '' })
  expect(parse(output)).toMatchObject({
    listen: { host: '127.0.0.1', port: 4444 },
    upstream: { delimiter: '$', credential: { header: 'authorization', value: '(hidden)' } },
    policies: { folder: [join(folder, 'policies')] },
  })
  expect(output).not.toContain('of-the-file')
  const secret = await check({ CATALOG_GATEWAY__UPSTREAM__CREDENTIAL__VALUE: 'Bearer of-the-environment' })
  expect(secret).toMatchObject({ status: 0, output: expect.not.stringContaining('of-the-environment') })
})

it('every file that a start or a delivery would miss is named', async () => {
  const { write, check } = await configuredFolder()
  const jwks = { file: 'no-jwks' }
  await write({
    identity: {
      issuers: [
        { name: 'corp', issuer: 'https://idp.example', audience: 'lake', algorithms: ['RS256'], jwks },
      ],
    },
    audit: {
      folder: 'audit',
      sealKeyFile: 'no-seal-key',
      redaction: { keyFile: 'no-redaction-key' },
      sinks: [
        {
          name: 'siem',
          type: 'otlp',
          url: 'https://siem.example',
          credential: { file: 'no-credential' },
        },
      ],
    },
    traces: { endpoint: 'https://traces.example', credential: { file: 'no-trace-credential' } },
  })
  const { status, messages } = await check()
  expect(status).toBe(1)
  const missing = [...messages.matchAll(/no-[a-z-]+/g)].map(([name]) => name)
  expect(new Set(missing)).toEqual(
    new Set(['no-jwks', 'no-seal-key', 'no-redaction-key', 'no-credential', 'no-trace-credential']),
  )
})

it('all errors in the settings are reported at once with their positions', async () => {
  const { file } = await configuredFolder()
  const lines = ['listen:', '  port: many', 'upstream:', '  ulr: https://catalog.example', 'policies: {}']
  await writeFile(file, lines.join('\n'))
  const environment = { CATALOG_GATEWAY__BOGUS: '1' }
  const { status, output, messages } = await runCommand(['check', '--config', file], { environment })
  expect({ status, output }).toEqual({ status: 1, output: '' })
  for (const expected of [
    `${file}:2:3: listen.port: expected a number, received "many"`,
    `${file}:3:1: upstream.url: is missing`,
    `${file}:4:3: upstream.ulr: unknown setting`,
    `${file}:5:1: policies.folder: is missing; expected a folder of policies, or a list of folders`,
    'identity: ',
    'audit: ',
    'environment: CATALOG_GATEWAY__BOGUS is not a setting',
  ]) {
    expect(messages).toContain(expected)
  }
  expect(messages).not.toMatch(/^ {4}at /m)
})

it('finds a pepper that is not that of the keys', async () => {
  const { folder, write, check } = await configuredFolder()
  await write({})
  const own = await readFile(join(folder, 'pepper'), 'utf8')
  await writeFile(join(folder, 'pepper'), 'another pepper of more than thirty-two bytes')
  const { status, messages } = await check()
  expect(status).toBe(1)
  expect(messages).toContain('the pepper is not the one of the keys')
  await writeFile(join(folder, 'pepper'), own)
  expect(await check()).toMatchObject({ status: 0, messages: '' })
})

it('warns of credentials in the clear, and of proxies that may be anybody', async () => {
  const { write, check } = await configuredFolder()
  await write({ listen: { host: '0.0.0.0' } })
  expect(await check()).toMatchObject({
    status: 0,
    messages: expect.stringMatching(/^warning: listen\.tls: without it, .* in the clear/),
  })
  await write({ listen: { host: '0.0.0.0', trustedProxies: ['0.0.0.0/0'] } })
  expect((await check()).messages).toBe(
    'warning: listen.trustedProxies: with 0.0.0.0/0, every client can claim any address\n',
  )
  await write({
    listen: { trustedProxies: ['::/0'], clientCertificateFrom: 'client-cert' },
    identity: { clientCertificates: { name: 'mesh' } },
  })
  expect((await check()).messages).toBe(
    'warning: listen.trustedProxies: with ::/0, every client can claim any address and any certificate\n',
  )
})

it('several policy folders are checked together', async () => {
  const { folder, write, check } = await configuredFolder()
  await mkdir(join(folder, 'freezes'))
  const writePolicy = (file: string, changes: object): Promise<void> =>
    writeFile(join(folder, file), stringify({ ...policy, ...changes }))
  const deny = { id: 'stop', effect: 'deny', subjects: { any: true }, operations: ['query'] }
  const rules = [{ ...deny, when: '"pii" in tags' }]
  await writePolicy('policies/tags.yaml', { metadata: { name: 'tags' }, tags: { namespace: ['pii'] } })
  await write({ policies: { folder: ['policies', 'freezes'] } })
  expect((await check()).messages).toContain(`${join(folder, 'freezes')}: contains no policy`)
  await writePolicy('freezes/stop.yaml', { metadata: { name: 'freezes' }, rules })
  expect(await check()).toMatchObject({ status: 0 })

  await writePolicy('freezes/stop.yaml', { metadata: { name: 'tags' }, rules })
  expect((await check()).messages).toMatch(
    /the policies in .*policies and .*freezes cannot be used:\n.*freezes\/stop\.yaml:\d+:\d+: .*duplicate policy name "tags", also in policies\/tags\.yaml/,
  )
  for (const file of ['policies/tags.yaml', 'freezes/stop.yaml']) await writePolicy(file, { rules: 1 })
  const { status, messages } = await check()
  expect(status).toBe(1)
  for (const file of ['policies/tags.yaml', 'freezes/stop.yaml']) expect(messages).toContain(`  ${file}:`)
})

it('an address and an audit folder that no start could use are errors, and nothing is created', async () => {
  const { folder, write, check } = await configuredFolder()
  await writeFile(join(folder, 'file'), '')
  await write({ listen: { host: '192.0.2.1' }, audit: { folder: 'file/audit' } })
  const { status, messages } = await check()
  expect(status).toBe(1)
  expect(messages).toMatch(/the address of listen cannot be used:\n.*EADDRNOTAVAIL/)
  expect(messages).toMatch(/audit\.folder cannot be used:\n.*no folder can be created in .*file/)
  await write({ audit: { folder: 'new/audit' } })
  expect(await check()).toMatchObject({ status: 0, messages: '' })
  expect(await readdir(folder)).not.toContain('new')
})

it('a port and an audit folder that the running gateway may use are warnings', async () => {
  const { folder, write, check } = await configuredFolder()
  await write({ admin: { host: '127.0.0.1' } })
  const port = await listenLocally(createServer())
  await mkdir(join(folder, 'audit'))
  const lock = await lockFile(join(folder, 'audit', 'writer.lock'))
  const { status, messages } = await check({ CATALOG_GATEWAY__ADMIN__PORT: String(port) })
  await lock.release()
  expect(status).toBe(0)
  expect(messages).toMatch(/^warning: the address of admin is in use, .*EADDRINUSE.*$/m)
  expect(messages).toMatch(
    /^warning: audit\.folder is in use, .*writer\.lock is in use by process \d+ on host \S+$/m,
  )
})

it('counts what lint finds', async () => {
  const { folder, file, check } = await configuredFolder()
  const rules = [{ ...policy.rules[0], subjects: { users: ['crop:ann'] } }]
  await writeFile(join(folder, 'policies', 'everybody.yaml'), stringify({ ...policy, rules }))
  expect(await check()).toMatchObject({
    status: 0,
    messages: `warning: the policies have findings (0 errors, 1 warning); see catalog-gateway policy lint --config ${file}\n`,
  })
})

it('warns of an upstream whose url has the /v1 of the interface', async () => {
  const { write, check } = await configuredFolder()
  await write({ upstream: { url: 'http://127.0.0.1:1/v1' } })
  expect((await check()).messages).toBe(
    'warning: url of the upstream catalog: is http://127.0.0.1:1/v1; omit /v1, which the gateway appends itself\n',
  )
})

it('all errors in files that the settings name are reported at once', async () => {
  const { folder, write, check } = await configuredFolder()
  await writeFile(join(folder, 'policies', 'everybody.yaml'), stringify({ ...policy, rules: [{ id: 'x' }] }))
  await writeFile(join(folder, 'keys.yaml'), 'keys: 7\n')
  await writeFile(join(folder, 'pepper'), 'short')
  await write({
    upstream: { url: 'https://catalog.example', caFile: 'authority.pem' },
    limits: { shared: { url: 'redis://limits.example', passwordFile: 'limits-password' } },
  })
  const { status, output, messages } = await check()
  expect({ status, output }).toEqual({ status: 1, output: '' })
  const files = ['everybody.yaml:', 'keys.yaml:1', 'the pepper', 'authority.pem']
  for (const expected of [...files, 'limits-password']) expect(messages).toContain(expected)
})
