import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Service } from 'kubernetes-types/core/v1.js'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { chartFolder } from '../helm/chart.ts'
import { helms, kubectl } from '../helm/helm-programs.ts'
import { listCodeBlocks } from '../support/code-blocks.ts'
import { createNamespace, type TestNamespace } from './support/namespace.ts'
import { toLoopback } from './support/node/loopback-address.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Shell {
  readonly folder: string
  /** Runs commands with helm and kubectl in the namespace. Resolves with the output; rejects if one fails. */
  run(commands: string): Promise<string>
}

async function openShell(namespace: TestNamespace): Promise<Shell> {
  const folder = await temporaryFolder()
  const programs = join(folder, 'programs')
  await mkdir(programs)
  for (const [name, program] of Object.entries({ helm: helms.at(-1), kubectl })) {
    if (program === undefined) throw new Error(`there is no ${name} on this machine`)
    await symlink(program, join(programs, name))
  }
  const kubeconfig = parse(await readFile(namespace.kubeconfig, 'utf8')) as {
    contexts: { context: object }[]
  }
  for (const each of kubeconfig.contexts) each.context = { ...each.context, namespace: namespace.name }
  const file = join(folder, 'kubeconfig')
  await writeFile(file, stringify(kubeconfig))
  await symlink(join(projectFolder, 'helm'), join(folder, 'helm'))
  const env = { ...process.env, KUBECONFIG: file, PATH: `${programs}:${process.env['PATH']}` }
  return {
    folder,
    run: async (commands) =>
      (await promisify(execFile)('bash', ['-ec', commands], { cwd: folder, env })).stdout,
  }
}

it('a stranger writes a policy as a resource, sees it accepted and calls a table, by the README of the chart', async () => {
  const namespace = await createNamespace()
  const shell = await openShell(namespace)
  const readme = await readFile(join(chartFolder, 'README.md'), 'utf8')
  const section = /^## Policies as Kubernetes resources\n(.*?)^## /ms.exec(readme)?.[1] ?? ''
  const [install = '', write = '', call = ''] = listCodeBlocks(section, 'sh')
  const [policy = ''] = listCodeBlocks(section, 'yaml policy')
  await writeFile(join(shell.folder, 'etl.yaml'), policy.replaceAll('default/', `${namespace.name}/`))

  // Another release in this cluster may have installed the definition.
  await shell.run(install.replace(' --wait', ' --wait --take-ownership'))
  expect(await shell.run(write)).toMatch(/^etl +\["prod"\] +True +Accepted /m)
  const { spec } = await namespace.client.get<Service>(
    `/api/v1/namespaces/${namespace.name}/services/lake-catalog-gateway`,
  )
  const url = `http://${toLoopback(spec?.clusterIP ?? '')}:${spec?.ports?.[0]?.port}`
  const calls = call.replace(/^kubectl port-forward .*\n/m, '').replace('http://127.0.0.1:2333', url)
  // Endpoints and the circuit to a catalog that starts after the gateway need a moment; then prod does not exist.
  const status = `curl --silent --output list --write-out '%{http_code}' --header "authorization: Bearer $TOKEN"`
  const waiting = `until [[ "$(${status} ${url}/v1/namespace/prod/list)" == 4* ]]; do sleep 0.2; done\n`
  const responses = (
    await shell.run(calls.replace(/^call /m, () => `${waiting}call `).replaceAll(/^call .*$/gm, '$&\necho'))
  ).split('\n')
  const [, ...json] = responses
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as object)
  expect(json).toMatchObject([
    { location: expect.any(String) },
    { table: 'orders' },
    { code: expect.any(Number) },
  ])
})
