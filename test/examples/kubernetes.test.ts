import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { podsOf, render, type Manifest, type PodSpec } from '../helm/chart.ts'
import { helms, kubectl } from '../helm/helm-programs.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const example = join(projectFolder, 'examples/kubernetes')
const policyName = 'catalog-policies'

function buildPolicies(): readonly Manifest[] {
  if (kubectl === undefined) throw new Error('there is no kubectl on this machine')
  const text = execFileSync(kubectl, ['kustomize', join(example, 'policies')], { encoding: 'utf8' })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

/** Writes files as the kubelet mounts a ConfigMap: links to a folder that it replaces as a whole. */
async function mount(data: Readonly<Record<string, string>>): Promise<string> {
  const folder = join(await temporaryFolder(), 'policies')
  await mkdir(join(folder, '..1'), { recursive: true })
  await symlink('..1', join(folder, '..data'))
  for (const [name, text] of Object.entries(data)) {
    await writeFile(join(folder, '..1', name), text)
    await symlink(`..data/${name}`, join(folder, name))
  }
  return folder
}

it.skipIf(kubectl === undefined)('the Job tests the policies that the gateways get', async () => {
  const manifests = buildPolicies()
  const find = (name: string) => manifests.find(({ metadata }) => metadata.name === name)
  const [applied, checked] = [find(policyName), find(`${policyName}-to-check`)]
  expect(checked?.data).toEqual(applied?.data)
  const job = find(`${policyName}-check`)?.spec as { readonly template: { readonly spec: PodSpec } }
  const { initContainers = [], containers, volumes } = job.template.spec
  expect(volumes).toEqual([{ name: 'policies', configMap: { name: checked?.metadata.name } }])

  async function runJob(data: Readonly<Record<string, string>>): Promise<readonly number[]> {
    const folder = await mount(data)
    const commands = [...initContainers, ...containers].map(({ args }) =>
      runCommand(args.map((word) => (word === '/policies' ? folder : word))),
    )
    return (await Promise.all(commands)).map(({ status }) => status)
  }

  const data = applied?.data ?? {}
  expect(await runJob(data)).toEqual([0, 0])
  const text = data['sales.yaml'] ?? ''
  expect(await runJob({ 'sales.yaml': text.replace('effect: allow', 'effect: alow') })).toEqual([1, 1])
  expect(await runJob({ 'sales.yaml': text.replace('create, write]', 'create]') })).toEqual([0, 1])
})

it.skipIf(kubectl === undefined)('the ConfigMap and the Job are made before the policies are applied', () => {
  const hooks = buildPolicies().map(({ metadata }) => {
    const { annotations = {} } = metadata as { annotations?: Record<string, string> }
    return [
      metadata.name,
      annotations['argocd.argoproj.io/hook'],
      annotations['argocd.argoproj.io/sync-wave'],
    ]
  })
  expect(hooks).toEqual([
    [policyName, undefined, undefined],
    [`${policyName}-to-check`, 'PreSync', '-1'],
    [`${policyName}-check`, 'PreSync', undefined],
  ])
})

it.skipIf(helms.length === 0)('gateways and the check of the chart mount these policies', async () => {
  const manifests = await render(['--values', join(example, 'values.yaml')])
  for (const component of ['gateway', 'check']) {
    const { pod } = podsOf(manifests).find((each) => each.component === component) ?? {}
    expect(pod?.volumes).toContainEqual(expect.objectContaining({ configMap: { name: policyName } }))
  }
})

interface Source {
  readonly path?: string
  readonly ref?: string
  readonly helm?: { readonly valueFiles: readonly string[] }
}

it('the Applications name folders and files of this repository', async () => {
  const documents = parseAllDocuments(await readFile(join(example, 'argo-cd.yaml'), 'utf8'))
  const specs = documents.map(
    (document) => (document.toJS() as { spec: { source?: Source; sources?: readonly Source[] } }).spec,
  )
  const sources = specs.flatMap(({ source, sources: several = [] }) => source ?? several)
  const files = sources.flatMap(({ path = '.', helm: { valueFiles = [] } = {} }) => [
    path,
    ...valueFiles.map((file) => file.replace('$values/', '')),
  ])
  expect(files).toHaveLength(4)
  for (const file of files) expect(existsSync(join(projectFolder, file)), file).toBe(true)
  const { version } = parse(
    await readFile(join(projectFolder, 'helm/catalog-gateway/Chart.yaml'), 'utf8'),
  ) as {
    version: string
  }
  expect(JSON.stringify(specs)).toContain(`"targetRevision":"v${version}"`)
})
