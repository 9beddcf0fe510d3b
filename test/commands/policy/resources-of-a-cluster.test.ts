import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { createResource, grant } from '../../policy/source/kubernetes/reviewed-resources.ts'
import { writeFiles } from '../../policy/source/policy-folder.ts'
import { fakeCluster } from './fake-cluster.ts'

async function diffApplied(files: Readonly<Record<string, string>>) {
  const folder = join(await temporaryFolder(), 'candidates')
  await writeFiles(folder, files)
  const tagged = createResource('tagged', {
    namespace: ['prod'],
    tags: { tables: { orders: { tags: ['pii'] } } },
    rules: [],
  })
  const cluster = await fakeCluster(createResource('sales', grant), tagged)
  return runCommand(['policy', 'diff', ...cluster, '--apply', folder])
}

const candidate = (changes: object, namespace = 'team-a'): string =>
  stringify({ ...createResource('sales', { ...grant, ...changes }), metadata: { name: 'sales', namespace } })

const write = {
  rules: [{ id: 'writes', effect: 'allow', subjects: { groups: ['sales'] }, operations: ['write'] }],
}

it('candidates may have one name in two Kubernetes namespaces', async () => {
  const { status, output, messages } = await diffApplied({
    'a.yaml': candidate({}),
    'b.yaml': candidate(write, 'team-b'),
  })
  expect({ status, messages }).toEqual({ status: 0, messages: '' })
  expect(output).toContain('after:  allowed by team-b/sales/writes')
})

it('candidates may name the tags of resources', async () => {
  const deny = {
    id: 'd',
    effect: 'deny',
    subjects: { any: true },
    operations: ['read'],
    when: '"pii" in tags',
  }
  const { status, messages } = await diffApplied({ 'a.yaml': candidate({ rules: [deny] }) })
  expect({ status, messages }).toEqual({ status: 0, messages: '' })
})

it.each([
  ['a repeated key', `${candidate({})}spec: 1\nspec: 2\n`, /a\.yaml:\d+:1: .*spec/],
  ['a typo', candidate({ rule: [] }), /a\.yaml:\d+:\d+: unknown field "rule"/],
  ['no policy', '', /candidates: contains no policy/],
])('a candidate with %s cannot be applied', async (_what, text, message) => {
  const { status, output, messages } = await diffApplied({ [text === '' ? 'a.txt' : 'a.yaml']: text })
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(message)
})

it('of two rules that allow the same, that of the first name decides, as in a gateway', async () => {
  const cluster = await fakeCluster(
    createResource('zeta', grant, { creationTimestamp: '2026-01-01T00:00:00Z' }),
    createResource('alpha', grant, { creationTimestamp: '2026-02-01T00:00:00Z' }),
  )
  const question = ['--group', 'sales', 'DescribeTable', 'prod/sales/orders']
  const { status, output } = await runCommand(['policy', 'explain', ...cluster, ...question])
  expect(output).toContain('\n  by team-a/alpha/reads ')
  expect(status).toBe(0)
})
