import { execFile } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { chartFolder } from '../helm/chart.ts'
import { helm, helms, kubectl } from '../helm/helm-programs.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'

let server: ApiServer

const deny = (name: string): string =>
  formatPolicies([
    {
      name,
      namespace: [],
      rules: [{ id: 'all', effect: 'deny', subjects: { any: true }, operations: ['all'] }],
    },
  ])

/** Runs a command line with kubectl of the administrator in the folder of the API server. */
async function run(command: string): Promise<string> {
  const { PATH = '' } = process.env
  const env = { ...process.env, PATH: server.folder + delimiter + PATH, KUBECONFIG: server.kubeconfig }
  return (await promisify(execFile)('bash', ['-c', command], { cwd: server.folder, env })).stdout
}

/** What every call of helm needs. */
function options(): readonly string[] {
  return ['--kubeconfig', server.kubeconfig, '--values', join(server.folder, 'values.yaml')]
}

describe.skipIf(helms.length === 0 || kubectl === undefined).each(helms)('with %s', (program) => {
  const name = `demo${helms.indexOf(program)}`
  const configMap = `${name}-catalog-gateway-emergency`

  beforeAll(async () => {
    server ??= await startApiServer()
    const [values, link] = [join(server.folder, 'values.yaml'), join(server.folder, 'kubectl')]
    if (kubectl?.startsWith('/')) await symlink(kubectl, link).catch(() => undefined)
    const emergency = { enabled: true, inline: { 'first.yaml': deny('first') } }
    await writeFile(values, stringify({ check: { enabled: false }, policies: { emergency } }))
    await writeFile(join(server.folder, 'stop.yaml'), deny('stop'))
    await helm(['install', name, chartFolder, ...options()], program)
  }, 180_000)

  it('the command of the README adds an emergency deny to those of the values, and upgrades keep both', async () => {
    const readme = await readFile(join(chartFolder, 'README.md'), 'utf8')
    const [, command = ''] = /`(kubectl patch configmap NAME-emergency [^`]+)`/.exec(readme) ?? []
    await run(command.replaceAll('NAME-emergency', configMap))
    const readDenies = async (): Promise<unknown> =>
      JSON.parse(await run(`kubectl get configmap ${configMap} --output jsonpath={.data}`))
    const both = { 'first.yaml': deny('first'), 'stop.yaml': deny('stop') }
    expect(await readDenies()).toEqual(both)
    await helm(['upgrade', name, chartFolder, ...options()], program)
    expect(await readDenies()).toEqual(both)
  })
})

afterAll(() => server?.close())
