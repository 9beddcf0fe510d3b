import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { isThorough } from '../support/thorough.ts'
import { hasOpenssl } from '../identity/mtls/test-certificates.ts'
import { valuesWithTls, podsOf, valuesNames } from './chart.ts'
import { mountPod, secretsOf } from './mounted-pod.ts'
import { helms } from './helm-programs.ts'
import { manifestsOf, renderedValues } from './rendered-values.ts'
import { makeTemporaryFolder, removeFolder, temporaryFolder } from '../support/temporary-folder.ts'

const folder = await makeTemporaryFolder()
afterAll(() => removeFolder(folder))
const secrets = await secretsOf(folder)

async function mounted(name: string, component: string) {
  const root = await temporaryFolder()
  return { root, ...(await mountPod(root, component, manifestsOf(name), secrets)) }
}

/** Lists files with their contents, except the other keys of the Secret of the check, which stands for all that are generated. */
async function readFiles(root: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(join(root, 'etc'), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = files
    .toSorted()
    .map(async (file) => [file.slice(root.length), await readFile(file, 'utf8')] as const)
  return (await Promise.all(texts)).filter(
    ([file]) => !/bootstrap-key\/token|access-tokens\/api-key/.test(file),
  )
}

/** The check of each component that values have. */
const checks = [...renderedValues]
  .flatMap(([name, manifests]) => podsOf(manifests).map(({ component }) => [name, component] as const))
  .flatMap(([name, component]) =>
    component === 'gateway'
      ? [{ name, component, check: 'check' }]
      : component === 'catalog'
        ? [{ name, component, check: 'catalog-check' }]
        : [],
  )

/** Those whose settings name the most files. */
const runInFull = isThorough ? valuesNames : ['defaults', 'policies', 'policy-resources', 'tls']
/** In many clusters, a proxy in front of the pods has the certificates; some values have policies that lint warns of. */
const expectedWarnings = /^warning: (listen\.tls: |the policies have findings )[^\n]*\n/gm

it.skipIf(helms.length === 0)('all values are checked, the default ones included', () => {
  expect(checks.filter(({ check }) => check === 'check').map(({ name }) => name)).toEqual(valuesNames)
})

it.each(checks.filter(({ name }) => !valuesWithTls.has(name) || hasOpenssl()))(
  'the $check of $name reads exactly the files and variables of the $component, and passes',
  async ({ name, component, check: checkName }) => {
    const [check, checked] = [await mounted(name, checkName), await mounted(name, component)]
    expect(await readFiles(check.root)).toEqual(await readFiles(checked.root))
    expect(check.environment).toEqual(checked.environment)
    expect(check.container.volumeMounts).toEqual(checked.container.volumeMounts)
    expect(check.container.image).toBe(checked.container.image)
    if (!runInFull.includes(name)) return
    const { args } = check
    // Other ports than those of a pod, which other programs on this machine may use.
    const ports = { CATALOG_GATEWAY__LISTEN__PORT: '0', CATALOG_GATEWAY__ADMIN__PORT: '0' }
    const environment = { ...check.environment, ...(component === 'gateway' && ports) }
    const { status, messages } = await runCommand(args, { environment })
    expect({ status, messages: messages.replaceAll(expectedWarnings, '') }).toEqual({
      status: 0,
      messages: '',
    })
  },
)

it.skipIf(helms.length === 0)(
  'an access token of the catalog that is too short fails its check, before the catalog is replaced',
  async () => {
    const { root, args, environment } = await mounted('bundled-catalog', 'catalog-check')
    await writeFile(join(root, 'etc/catalog/access-tokens/token'), 'short')
    const { status, messages } = await runCommand(args, { environment })
    expect(status).toBe(1)
    expect(messages).toContain('access-tokens/token: expected one token of 16 characters or more')
  },
)

it.skipIf(helms.length === 0)(
  'a misspelt word in a policy fails the check with its file and line',
  async () => {
    const { root, args, environment } = await mounted('bundled-catalog', 'check')
    expect(await runCommand(args, { environment })).toMatchObject({ status: 0 })
    const file = join(root, 'etc/catalog-gateway/policies/inline/everybody.yaml')
    await writeFile(file, (await readFile(file, 'utf8')).replace('allow', 'alow'))
    const { status, messages } = await runCommand(args, { environment })
    expect(status).toBe(1)
    expect(messages).toContain('everybody.yaml:6')
  },
)
