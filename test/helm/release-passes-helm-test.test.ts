import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { hasOpenssl, makeAuthority } from '../identity/mtls/test-certificates.ts'
import { startProgram, type Program } from '../e2e/built-program.ts'
import { freePort } from '../support/free-port.ts'
import { podsOf, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'
import { manifestsOf } from './rendered-values.ts'
import { mountPod, secretsOf, type Contents } from './mounted-pod.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Release {
  readonly root: string
  readonly manifests: readonly Manifest[]
  readonly secrets: Contents
}

/** Only ports and the folder of the volumes differ from the real pod. */
async function startPod(
  { root, manifests, secrets }: Release,
  component: string,
  upstream = {},
): Promise<Program> {
  const { args, environment } = await mountPod(root, component, manifests, secrets)
  const file = args.at(-1) ?? ''
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replaceAll('/var/lib/', `${join(root, 'var/lib')}/`))
  const where = { CATALOG_GATEWAY__LISTEN__HOST: '127.0.0.1', CATALOG_GATEWAY__LISTEN__PORT: '0' }
  return startProgram(args, { environment: { ...environment, ...where, ...upstream } })
}

/** Runs the command of the `helm test` pod against that gateway. Calls `onFirstOutput` when it prints something. */
async function helmTest(
  { manifests }: Release,
  url: string,
  key: string,
  onFirstOutput = () => {},
): Promise<{ readonly isGood: boolean; readonly said: string }> {
  const container = podsOf(manifests).find(({ component }) => component === 'test')?.pod.containers[0]
  const [node, ...words] = [...(container?.command ?? []), ...(container?.args ?? [])]
  expect(node).toBe('node')
  const target = container?.env?.find(({ name }) => name === 'TARGET')?.value ?? ''
  expect(target).toMatch(/^http:\/\/release-catalog-gateway:80\//)
  const env = { TARGET: target.replace('http://release-catalog-gateway:80', url), API_KEY: key }
  try {
    const running = promisify(execFile)(process.execPath, words, { env })
    running.child.stdout?.once('data', onFirstOutput)
    const { stdout } = await running
    return { isGood: true, said: stdout }
  } catch (error) {
    return { isGood: false, said: (error as { stderr: string }).stderr }
  }
}

const releases = [
  ['bundled-catalog', 'gateway-test-key'],
  ['defaults', 'release-catalog-gateway-bootstrap-key'],
] as const

it.skipIf(helms.length === 0).each(releases)(
  'a release with the values %s passes the helm test, which fails with a wrong key',
  async (name, keys) => {
    const root = await temporaryFolder()
    const secrets = await secretsOf(root)
    const release = { root, manifests: manifestsOf(name), secrets }
    const catalog = await startPod(release, 'catalog')
    const catalogUrl = await catalog.announced(/^listening on (\S+)$/m)
    const gateway = await startPod(release, 'gateway', {
      CATALOG_GATEWAY__ADMIN__PORT: '0',
      CATALOG_GATEWAY__UPSTREAM__URL: catalogUrl,
    })
    const url = await gateway.announced(/^listening on (\S+)$/m)
    const key = secrets[keys]?.['api-key'] ?? ''
    expect(await helmTest(release, url, key)).toEqual({
      isGood: true,
      said: 'without a credential: 401\nwith a key that nobody made: 401\nwith the key: 200\n',
    })
    const wrong = await helmTest(release, url, 'cgk_of_nobody')
    expect(wrong).toMatchObject({ isGood: false, said: expect.stringContaining('200 expected, but 401') })
    for (const program of [gateway, catalog]) {
      program.signal('SIGTERM')
      expect(await program.ended).toMatchObject({ status: 0 })
    }
  },
)

it.skipIf(helms.length === 0)(
  'the helm test tries again while the gateway is not there yet',
  async () => {
    const root = await temporaryFolder()
    const release = { root, manifests: manifestsOf('defaults'), secrets: await secretsOf(root) }
    let requests = 0
    const server = createServer(({ headers }, response) => {
      requests += 1
      const status = headers['x-api-key'] === 'the-key' ? 200 : 401
      response.writeHead(requests === 1 ? 503 : status).end('{}')
    })
    const port = await freePort()
    onTestFinished(() => void server.close())
    const { isGood, said } = await helmTest(release, `http://127.0.0.1:${port}`, 'the-key', () =>
      server.listen(port, '127.0.0.1'),
    )
    expect(said).toMatch(/ECONNREFUSED.*trying again[^]*503: \{\}; trying again[^]*with the key: 200/)
    expect(isGood).toBe(true)
  },
  30_000,
)

it.skipIf(helms.length === 0 || !hasOpenssl())(
  'the helm test says at once which value a certificate needs',
  async () => {
    const root = await temporaryFolder()
    const release = { root, manifests: manifestsOf('defaults'), secrets: await secretsOf(root) }
    const authority = await makeAuthority(root, 'unknown')
    const server = createTlsServer(await authority.issue('gateway', 'IP:127.0.0.1', { usage: 'serverAuth' }))
    const port = await freePort()
    onTestFinished(() => void server.close())
    server.listen(port, '127.0.0.1')
    const { isGood, said } = await helmTest(release, `https://127.0.0.1:${port}`, 'the-key')
    expect(said).toMatch(/^https:\S+: unable to \w+ [^\n]*; expected tests\.caCertificate [^\n]*\n$/)
    expect(isGood).toBe(false)
  },
  30_000,
)
