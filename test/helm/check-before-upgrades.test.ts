import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { hasOpenssl } from '../identity/mtls/test-certificates.ts'
import { goldenManifests, needOpenssl, podsOf, valuesNames } from './chart.ts'
import { mountPod, secretsOf } from './mounted-pod.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function mounted(name: string, component: string) {
  const root = await temporaryFolder()
  const secrets = await secretsOf(await temporaryFolder())
  return { root, ...(await mountPod(root, component, goldenManifests(name), secrets)) }
}

/**
 * Lists files with their contents, except keys, of which each call of secretsOf creates its own, and the other keys of the
 * Secret of the check, which stands for all that are generated.
 */
async function readFiles(root: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(join(root, 'etc'), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = files
    .toSorted()
    .map(async (file) => [file.slice(root.length), await readFile(file, 'utf8')] as const)
  return (await Promise.all(texts)).filter(([file]) => !/api-keys|secrets|bootstrap-key\/token/.test(file))
}

const checked = valuesNames.filter((name) =>
  goldenManifests(name).some(({ kind, metadata }) => kind === 'Job' && metadata.name.endsWith('-check')),
)

it('all values are checked, the default ones included', () => {
  expect(checked).toEqual(valuesNames)
})

it.each(checked.filter((name) => !needOpenssl.has(name) || hasOpenssl()))(
  'the check of %s reads exactly the files and variables of the gateway',
  async (name) => {
    const [check, gateway] = [await mounted(name, 'check'), await mounted(name, 'gateway')]
    expect(await readFiles(check.root)).toEqual(await readFiles(gateway.root))
    expect(check.environment).toEqual(gateway.environment)
    expect(check.container.volumeMounts).toEqual(gateway.container.volumeMounts)
  },
)

it('a misspelt word in a policy fails the check with its file and line', async () => {
  const { root, args, environment } = await mounted('bundled-catalog', 'check')
  expect(await runCommand(args, { environment })).toMatchObject({ status: 0 })
  const file = join(root, 'etc/catalog-gateway/policies/inline/everybody.yaml')
  await writeFile(file, (await readFile(file, 'utf8')).replace('allow', 'alow'))
  const { status, messages } = await runCommand(args, { environment })
  expect(status).toBe(1)
  expect(messages).toContain('everybody.yaml:6')
})

it('a failed check runs once, keeps its log, and shows it', () => {
  const job = goldenManifests('bundled-catalog').find(({ kind }) => kind === 'Job')
  expect(job).toMatchObject({
    metadata: {
      annotations: {
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
        'helm.sh/hook-output-log-policy': 'hook-failed',
      },
    },
    spec: { backoffLimit: 0, template: { spec: { restartPolicy: 'Never' } } },
  })
  const pod = podsOf(goldenManifests('bundled-catalog')).find(({ component }) => component === 'check')?.pod
  expect(pod?.containers).toMatchObject([{ terminationMessagePolicy: 'FallbackToLogsOnError' }])
})
