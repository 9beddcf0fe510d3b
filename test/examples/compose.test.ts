import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SignJWT } from 'jose'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { backendSettingsSchema } from '../../src/backend/settings/backend-settings.ts'
import { projectFolder, startProgram } from '../e2e/built-program.ts'
import { makeSigningKey } from '../identity/jwt/token-issuer.ts'
import { hasOpenssl } from '../identity/mtls/test-certificates.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { hasProgram } from '../support/requirements.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listenLocally } from '../support/local-server.ts'

// Docker is not needed: the services are checked by their files, and gateway and catalog run as processes.

const run = promisify(execFile)
const example = join(projectFolder, 'examples/compose')
const hasPrograms = hasOpenssl() && hasProgram('curl') && hasProgram('jq')

interface Service {
  readonly image: string
  readonly volumes?: readonly string[]
  readonly env_file?: string
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, object>>
}

const compose = parse(await readFile(join(example, 'compose.yaml'), 'utf8')) as Compose

/** A copy of the example with secrets. */
async function prepare(): Promise<string> {
  const folder = join(await temporaryFolder(), 'examples/compose')
  await cp(example, folder, { recursive: true, filter: (path) => !path.includes('/secrets') })
  await cp(join(projectFolder, 'helm'), join(folder, '../../helm'), { recursive: true })
  await run(join(folder, 'prepare.sh'))
  return folder
}

async function readEnvironment(file: string): Promise<Readonly<Record<string, string>>> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  return Object.fromEntries(lines.map((line) => line.split('=', 2) as [string, string]))
}

it.skipIf(!hasPrograms)(
  'every file and volume of the services exists, and each image has a version',
  async () => {
    const folder = await prepare()
    for (const { image, volumes = [], env_file: environment } of Object.values(compose.services)) {
      expect(image).toMatch(/:v?\d+\.\d+/)
      const sources = volumes.map((volume) => volume.slice(0, volume.indexOf(':')))
      const files = sources.filter((source) => source.startsWith('.'))
      if (environment !== undefined) files.push(environment)
      for (const file of files) expect(existsSync(join(folder, file)), file).toBe(true)
      const named = sources.filter((source) => !source.startsWith('.'))
      expect(Object.keys(compose.volumes)).toEqual(expect.arrayContaining(named))
    }
  },
)

it.skipIf(!hasPrograms)('every host that the settings name is a service', async () => {
  const folder = await prepare()
  const files = ['gateway.yaml', 'catalog.yaml', 'secrets/postgres-url', 'grafana/datasources.yaml']
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  const urls = texts.flatMap((text) => text.match(/\b(?:https?|postgresql):\/\/[^\s'"]+/g) ?? [])
  const hosts = urls.map((url) => new URL(url).hostname).filter((host) => host !== 'catalog.example')
  const scraped = /targets: \['(.*):2334'\]/.exec(await readFile(join(folder, 'prometheus.yml'), 'utf8'))
  const names = Object.keys(compose.services)
  expect(names).toEqual(expect.arrayContaining([...hosts, scraped?.[1]]))
  expect(new Set(hosts)).toEqual(new Set(['catalog', 'keycloak', 'object-store', 'postgres', 'prometheus']))
  for (const { depends_on: others = [] } of Object.values(compose.services)) {
    expect(names).toEqual(expect.arrayContaining(Array.isArray(others) ? others : Object.keys(others)))
  }
})

it('the settings of the catalog are valid', async () => {
  const settings: unknown = parse(await readFile(join(example, 'catalog.yaml'), 'utf8'))
  expect(backendSettingsSchema.safeParse(settings).error?.issues).toBeUndefined()
})

it('the policies pass their tests', async () => {
  const { output } = await runCommand(['policy', 'test', '--policies', join(example, 'policies')])
  expect(output).toMatch(/^3 of 3 tests passed/)
})

interface Realm {
  readonly clients: readonly {
    readonly clientId: string
    readonly secret: string
    readonly protocolMappers: readonly { readonly config: Readonly<Record<string, string>> }[]
  }[]
  readonly users: readonly {
    readonly username: string
    readonly serviceAccountClientId: string
    readonly realmRoles: readonly string[]
  }[]
}

/** An issuer of the tokens that Keycloak has for the realm of the example; returns its port. */
async function startRealm(folder: string): Promise<number> {
  const realm = JSON.parse(await readFile(join(folder, 'keycloak-realm.json'), 'utf8')) as Realm
  const environment = await readEnvironment(join(folder, 'secrets/keycloak.env'))
  const issuer = 'https://keycloak:8443/realms/demo'
  const key = await makeSigningKey('realm')

  async function issue(authorization: string): Promise<object> {
    const [id, secret] = Buffer.from(authorization.slice('Basic '.length), 'base64').toString().split(':')
    const client = realm.clients.find(({ clientId }) => clientId === id)
    const user = realm.users.find(({ serviceAccountClientId }) => serviceAccountClientId === id)
    expect(secret).toBe(environment[/^\$\{(.*)\}$/.exec(client?.secret ?? '')?.[1] ?? ''])
    const audiences = client?.protocolMappers.map(({ config }) => config['included.custom.audience'] ?? '')
    const claims = { preferred_username: user?.username, realm_access: { roles: user?.realmRoles } }
    const token = new SignJWT({ ...claims, typ: 'Bearer', azp: id })
      .setProtectedHeader({ alg: key.algorithm, kid: key.kid, typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(audiences ?? [])
      .setSubject(`id of ${id}`)
      .setIssuedAt()
      .setExpirationTime('5m')
    return { access_token: await token.sign(key.privateKey) }
  }

  const [cert, tlsKey] = await Promise.all(
    ['crt', 'key'].map((kind) => readFile(join(folder, `secrets/keycloak.${kind}`))),
  )
  const server = createServer({ cert, key: tlsKey }, ({ url, headers }, response) => {
    const documents: Record<string, () => object | Promise<object>> = {
      '/realms/demo/.well-known/openid-configuration': () => ({ issuer, jwks_uri: `${issuer}/keys` }),
      '/realms/demo/keys': () => ({ keys: [key.publicKey] }),
      '/realms/demo/protocol/openid-connect/token': () => issue(headers.authorization ?? ''),
    }
    void Promise.resolve(documents[url ?? '']?.()).then(
      (document) => response.end(JSON.stringify(document)),
      () => response.writeHead(401).end(),
    )
  })
  return listenLocally(server)
}

it.skipIf(!hasPrograms)(
  'the walk-through shows a denial, a commit, their audit records and a metric',
  async () => {
    const folder = await prepare()
    const keycloak = await startRealm(folder)
    const proxy = await startConnectProxy({ hosts: { 'keycloak:8443': keycloak } })

    const settings = parse(await readFile(join(folder, 'catalog.yaml'), 'utf8')) as object
    const local = { ...settings, listen: { port: 0 }, store: {}, data: { folder: 'tables' } }
    await writeFile(join(folder, 'local-catalog.yaml'), stringify(local))
    const catalog = startProgram(['backend', '--config', join(folder, 'local-catalog.yaml')])
    const audit = join(folder, 'audit')
    const gateway = startProgram(['serve', '--config', join(folder, 'gateway.yaml')], {
      environment: {
        CATALOG_GATEWAY__UPSTREAM__URL: await catalog.announced(/^listening on (http:\S+)$/m),
        CATALOG_GATEWAY__LISTEN__HOST: '127.0.0.1',
        CATALOG_GATEWAY__LISTEN__PORT: '0',
        CATALOG_GATEWAY__ADMIN__HOST: '127.0.0.1',
        CATALOG_GATEWAY__ADMIN__PORT: '0',
        CATALOG_GATEWAY__AUDIT__FOLDER: audit,
        CATALOG_GATEWAY__OUTBOUND__PROXY__URL: proxy.url,
      },
    })
    const [, port] = (await gateway.announced(/^listening on (http:\S+)$/m)).split('127.0.0.1:')
    const [, adminPort] = (await gateway.announced(/^admin on (http:\S+)$/m)).split('127.0.0.1:')

    // In place of `docker compose exec -T gateway catalog-gateway audit query --config FILE`.
    const programs = join(folder, 'bin')
    await mkdir(programs)
    const main = join(projectFolder, 'dist/main.js')
    const docker = `#!/usr/bin/env bash\nexec '${process.execPath}' '${main}' audit query '${audit}' "\${@:10}"\n`
    await writeFile(join(programs, 'docker'), docker, { mode: 0o755 })

    const { stdout } = await run(join(folder, 'walk-through.sh'), {
      env: {
        ...process.env,
        PATH: `${programs}:${process.env['PATH']}`,
        GATEWAY_PORT: port,
        ADMIN_PORT: adminPort,
        KEYCLOAK_PORT: String(keycloak),
      },
    })
    expect(stdout).toMatch(/^2\. .*\n.*\b4\b/m)
    expect(stdout).toContain('you are not allowed InsertIntoTable')
    expect(stdout).toContain('authenticated as demo:service-account-analyst; contact for access: #sales-data')
    expect(stdout).toMatch(
      /^3\. [^]*refusal[^]*403 no_rule[^]*demo:service-account-loader .* committed version 2\n4\. /m,
    )
    expect(stdout).toMatch(
      /^catalog_gateway_requests_total\{.*operation="InsertIntoTable".*status="403".*\} 1$/m,
    )
    for (const program of [gateway, catalog]) {
      program.signal('SIGTERM')
      expect(await program.ended).toMatchObject({ status: 0 })
    }
  },
)
