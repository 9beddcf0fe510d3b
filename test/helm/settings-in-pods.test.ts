import { readFile } from 'node:fs/promises'
import { afterAll, expect, it } from 'vitest'
import { backendSettingsSchema } from '../../src/backend/settings/backend-settings.ts'
import { parseDuration } from '../../src/lib/time.ts'
import { readGatewaySettings } from '../../src/config/gateway-settings.ts'
import { readSettings } from '../../src/settings/read-settings.ts'
import { clientBounds } from '../../src/gateway/bounds.ts'
import { hasOpenssl } from '../identity/mtls/test-certificates.ts'
import { valuesWithTls, podsOf, render, valuesFile } from './chart.ts'
import { helms } from './helm-programs.ts'
import { mountPod, secretsOf } from './mounted-pod.ts'
import { manifestsOf, renderedValues } from './rendered-values.ts'
import { makeTemporaryFolder, removeFolder, temporaryFolder } from '../support/temporary-folder.ts'

const valuesNames = [...renderedValues.keys()]
const withCatalog = valuesNames.filter((name) =>
  podsOf(manifestsOf(name)).some(({ component }) => component === 'catalog'),
)
const secretsFolder = await makeTemporaryFolder()
afterAll(() => removeFolder(secretsFolder))
const secrets = await secretsOf(secretsFolder)

/** What a pod of these values runs with, its files mounted in a folder. */
async function mounted(name: string, component: string) {
  const folder = await temporaryFolder()
  const pod = await mountPod(folder, component, manifestsOf(name), secrets)
  const file = pod.args.at(-1) ?? ''
  return { ...pod, file }
}

it.each(valuesNames.filter((name) => !valuesWithTls.has(name) || hasOpenssl()))(
  'a gateway starts with the settings of %s, and listens where its pod says',
  async (name) => {
    const { container, file, environment } = await mounted(name, 'gateway')
    const { listen, admin, passThrough, timeouts, audit } = await readGatewaySettings(file, environment)
    const ports = Object.fromEntries(
      (container.ports ?? []).map(({ name, containerPort }) => [name, containerPort]),
    )
    expect(ports).toEqual({
      http: listen.port,
      admin: admin.port,
      ...(passThrough && { 'pass-through': passThrough.port }),
    })
    const address = name === 'several-upstreams' ? '::' : '0.0.0.0'
    expect([listen.host, admin.host]).toEqual([address, address])
    const volumes = (container.volumeMounts ?? []).filter(({ name }) => name === 'data')
    expect(volumes.some(({ mountPath }) => audit.folder.startsWith(`${mountPath}/`))).toBe(true)
    const pod = podsOf(manifestsOf(name)).find(({ component }) => component === 'gateway')?.pod
    const graceMs = 1000 * (pod?.terminationGracePeriodSeconds ?? 0)
    expect(graceMs).toBeGreaterThanOrEqual(clientBounds.drainDelayMs + timeouts.drainTimeoutMs + 20_000)
  },
)

it.each(withCatalog)(
  'a catalog starts with the settings of %s, and listens where its pod says',
  async (name) => {
    const { container, file, environment } = await mounted(name, 'catalog')
    const text = await readFile(file, 'utf8')
    const settings = readSettings(backendSettingsSchema, { file, text, environment })
    expect(container.ports).toEqual([{ name: 'http', containerPort: settings.listen.port }])
    const [token = ''] = settings.accessTokenFiles ?? []
    expect(await readFile(token, 'utf8')).toBe('the-token-of-the-catalog')
  },
)

it.skipIf(helms.length === 0)('user values override the chart', async () => {
  const { file } = await mounted('autoscaling', 'gateway')
  expect((await readGatewaySettings(file, {})).timeouts.drainTimeoutMs).toBe(45_500)
})

it.skipIf(helms.length === 0).each(['1500ms', '1m 30s', '1.5h', '2m', '1d'])(
  'the grace period of a pod covers a drain of %s',
  async (text) => {
    const words = ['--values', valuesFile('one-upstream'), '--set', `config.timeouts.drainTimeoutMs=${text}`]
    const pod = podsOf(await render(words)).find(({ component }) => component === 'gateway')?.pod
    const neededMs = clientBounds.drainDelayMs + parseDuration(text) + 20_000
    expect(pod?.terminationGracePeriodSeconds).toBe(Math.ceil(neededMs / 1000))
  },
)
