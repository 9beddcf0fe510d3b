import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { parsePolicies } from '../policy/parse-policies.ts'
import { projectFolder } from '../e2e/built-program.ts'
import type { Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const readProject = (file: string): Promise<string> => readFile(join(projectFolder, file), 'utf8')
const file = 'helm/catalog-gateway/README.md'

it('the policy of the README of the chart is valid', async () => {
  const [, policy = ''] = /```yaml policy\n(.*?)```/s.exec(await readProject(file)) ?? []
  expect(parsePolicies(policy, 'etl.yaml')).toMatchObject({ documents: [{ name: 'etl' }], problems: [] })
})

describe.skipIf(helms.length === 0)('the commands of the README of the chart', () => {
  it('install the chart with the Secrets that they create', async () => {
    const readme = await readProject(file)
    const [, values] = /```yaml values\n(.*?)```/s.exec(readme) ?? []
    const [, production] = /```yaml production.yaml\n(.*?)```/s.exec(readme) ?? []
    const [, policy] = /```yaml (?:production|policy)\n(.*?)```/s.exec(readme) ?? []
    const installs = [...readme.matchAll(/^helm (?:install|upgrade) .*$/gm)].map(([line]) => line)
    const folder = await temporaryFolder()
    const [, policyName = '', policyFile = ''] =
      /inline\.(\w+)\\\.yaml=(\S+)'/.exec(installs.join('\n')) ?? []
    await mkdir(dirname(join(folder, policyFile)), { recursive: true })
    await writeFile(join(folder, policyFile), policy ?? '')
    await writeFile(join(folder, 'values.yaml'), values ?? '')
    await writeFile(join(folder, 'production.yaml'), production ?? '')
    await symlink(join(projectFolder, 'helm'), join(folder, 'helm'))
    const run = async (install: string): Promise<string> => {
      const template = install.replace(/^helm (?:install|upgrade)/, `'${helms.at(-1)}' template`)
      return (await promisify(execFile)('bash', ['-c', template], { cwd: folder })).stdout
    }
    const stdout = (await Promise.all(installs.map(run))).join('---\n')
    const manifests = parseAllDocuments(stdout).flatMap((document) => (document.toJS() ?? []) as Manifest)
    const policies = manifests.flatMap(({ data }) => data?.[`${policyName}.yaml`] ?? [])
    expect(policies.length).toBeGreaterThan(0)
    for (const text of policies) expect(parse(text)).toEqual(parse(policy ?? ''))
    const made = [...readme.matchAll(/^kubectl create secret (?:generic|tls) (\S+)/gm)].map(
      ([, name]) => name,
    )
    const wanted = [...stdout.matchAll(/secretName: ([\w-]+)|secretKeyRef:\s+name: ([\w-]+)/g)]
    const generated = manifests.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name)
    expect(parsePolicies(policy ?? '', policyFile)).toMatchObject({ documents: [{}], problems: [] })
    expect(new Set(wanted.map(([, one, other]) => one ?? other))).toEqual(new Set([...made, ...generated]))
  })
})
