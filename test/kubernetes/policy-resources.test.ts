import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { chartFolder } from '../helm/chart.ts'
import { helm, helms, kubectl } from '../helm/helm-programs.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'
import { eventually } from '../support/eventually.ts'

let server: ApiServer

/** The values that a cluster without controllers can install: no Job would end. */
const values = {
  check: { enabled: false },
  policies: {
    kubernetes: {
      enabled: true,
      delegations: [
        { kubernetesNamespace: 'sales', catalogNamespaces: [['prod', 'sales']], subjects: { any: true } },
      ],
    },
  },
}

const policy = {
  apiVersion: 'catalog-gateway.dev/v1',
  kind: 'AccessPolicy',
  metadata: { name: 'readers', namespace: 'sales' },
  namespace: ['prod', 'sales'],
  rules: [
    { id: 'read', effect: 'allow', subjects: { any: true }, operations: ['read'], when: 'mode == "x"' },
  ],
}

/** Runs kubectl. Resolves with its standard output; rejects with its standard error. */
function run(words: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(kubectl ?? '', ['--kubeconfig', server.kubeconfig, ...words], (error, out, said) =>
      error ? reject(new Error(said, { cause: error })) : resolve(out),
    )
    child.stdin?.end(input)
  })
}

/** Words for helm that name the server and a Kubernetes namespace. */
function inNamespace(namespace: string): readonly string[] {
  return ['--namespace', namespace, '--kubeconfig', server.kubeconfig]
}

function apply(object: object, ...words: readonly string[]): Promise<string> {
  return run(['apply', '--filename', '-', ...words], JSON.stringify(object))
}

function withRule(change: object): object {
  return { ...policy, rules: [{ ...policy.rules[0], ...change }] }
}

describe.skipIf(helms.length === 0 || kubectl === undefined)('AccessPolicy resources of the chart', () => {
  beforeAll(async () => {
    server = await startApiServer()
    for (const name of ['catalog', 'sales']) await run(['create', 'namespace', name])
    const file = join(server.folder, 'values.yaml')
    await writeFile(file, stringify(values))
    await helm(['install', 'demo', chartFolder, ...inNamespace('catalog'), '--values', file])
    await eventually(() => run(['get', 'accesspolicies']))
  }, 180_000)

  afterAll(() => server?.close())

  it('every example is accepted by the API server, and listed with its namespace', async () => {
    const examples = await readExamples()
    expect(examples.length).toBeGreaterThan(5)
    for (const { metadata, ...fields } of examples) {
      const { name, description } = metadata
      const annotations = { 'catalog-gateway.dev/description': description ?? '' }
      await apply({ ...fields, apiVersion: policy.apiVersion, metadata: { name, annotations } })
    }
    const table = await run(['get', 'accesspolicies'])
    expect(table).toMatch(/^NAME +CATALOG NAMESPACE +MODE +ACCEPTED +REASON +AGE\n/)
    for (const { metadata, namespace } of examples) {
      expect(table).toMatch(
        new RegExp(`^${metadata.name} .*${namespace.map((part) => `"${part}"`).join(',')}`, 'm'),
      )
    }
  })

  it('the policy of the README of the chart is accepted by the API server', async () => {
    const readme = await readFile(join(chartFolder, 'README.md'), 'utf8')
    const [, text = ''] = /```yaml policy\n(.*?)```/s.exec(readme) ?? []
    expect(await run(['apply', '--filename', '-'], text)).toContain('etl created')
  })

  it.each<[what: string, change: object, message: string]>([
    [
      'misspelt members at any depth',
      {
        ...withRule({ subjects: { any: true, except: { user: ['eve'] } } }),
        rulse: [],
        tests: [
          { operations: ['read'], expect: 'allow', namespace: ['a'], as: null, given: { adress: 'a' } },
        ],
      },
      'unknown members: rulse rules[].subjects.except.user tests[].given.adress',
    ],
    ['the version of files', { apiVersion: 'catalog-gateway/v1' }, 'no matches for kind "AccessPolicy"'],
    [
      'commits that require nothing',
      { commits: { except: { users: ['a'] } } },
      'expected at least one of folders, metadata',
    ],
    ['a long name', { metadata: { ...policy.metadata, name: 'a'.repeat(129) } }, 'metadata.name: Too long'],
  ])('kubectl apply refuses %s', async (_what, change, message) => {
    // The rules of admission are in force soon after they are created.
    await eventually(() =>
      expect(apply({ ...policy, ...change }, '--dry-run=server')).rejects.toThrow(message),
    )
  })

  it('an empty condition is refused, or left for the gateway to refuse, but never removed', async () => {
    const empty = { ...withRule({ when: null }), metadata: { name: 'empty', namespace: 'sales' } }
    await eventually(() => expect(apply(empty, '--dry-run=server')).rejects.toThrow('a member has no value'))
    await apply(withRule({ when: 'mode == ":null"' }), '--dry-run=server')
    await apply(empty, '--server-side')
    const stored = await run(['get', 'accesspolicy', 'empty', '--namespace', 'sales', '--output', 'json'])
    expect(JSON.parse(stored)).toMatchObject({ rules: [{ when: null }] })
  })

  it.each(['strict', 'warn', 'false'])(
    'a misspelt member is refused with --validate=%s',
    async (validation) => {
      const misspelt = { ...withRule({ wehn: 'true' }), metadata: { name: 'misspelt', namespace: 'sales' } }
      await eventually(() =>
        expect(apply(misspelt, `--validate=${validation}`, '--dry-run=server')).rejects.toThrow(
          'unknown members: rules[].wehn',
        ),
      )
    },
  )

  it.each(['merge', 'json'])(
    'kubectl patch --type %s changes a policy, and adds no misspelt member',
    async (type) => {
      await apply(policy)
      const patch = (rule: object) => {
        const rules = [{ ...policy.rules[0], ...rule }]
        const content = type === 'merge' ? { rules } : [{ op: 'replace', path: '/rules', value: rules }]
        const words = ['--namespace', 'sales', '--type', type, '--patch', JSON.stringify(content)]
        return run(['patch', 'accesspolicy', 'readers', ...words])
      }
      await expect(patch({ wehn: 'true' })).rejects.toThrow('unknown members: rules[].wehn')
      await patch({ when: `mode == "${type}"` })
      const stored = await run(['get', 'accesspolicy', 'readers', '--namespace', 'sales', '--output', 'json'])
      expect(JSON.parse(stored)).toMatchObject({ rules: [{ when: `mode == "${type}"` }] })
    },
  )

  it('labels and status change, whatever the policy has', async () => {
    await apply(policy)
    await run(['label', 'accesspolicy', 'readers', 'team=sales', '--namespace', 'sales', '--overwrite'])
    const status = { observedGeneration: 1, conditions: [] }
    const patch = ['--subresource', 'status', '--type', 'merge', '--patch', JSON.stringify({ status })]
    await run(['patch', 'accesspolicy', 'readers', '--namespace', 'sales', ...patch])
  })

  it('a policy with as many rules as the schema allows is accepted', async () => {
    const rule = {
      ...policy.rules[0],
      subjects: { groups: ['corp:analysts'], except: { users: ['corp:eve'] } },
      tables: ['orders*'],
    }
    const rules = Array.from({ length: 1000 }, (_, index) => ({ ...rule, id: `read-${index}` }))
    const large = { ...policy, metadata: { name: 'large', namespace: 'catalog' }, rules }
    await apply(large, '--server-side', '--dry-run=server')
  })

  it.runIf(helms.length > 1)(
    'helm 3, which could remove empty members in an upgrade, is refused',
    async () => {
      const chart = join(server.folder, 'policies')
      await mkdir(join(chart, 'templates'), { recursive: true })
      await writeFile(
        join(chart, 'Chart.yaml'),
        stringify({ apiVersion: 'v2', name: 'policies', version: '1.0.0' }),
      )
      const metadata = { name: 'of-helm', namespace: 'sales' }
      await writeFile(join(chart, 'templates', 'policy.yaml'), stringify({ ...policy, metadata }))
      const words = ['install', 'policies', chart, ...inNamespace('sales')]
      await expect(helm(words, helms[0])).rejects.toThrow('helm 3 removes members without a value')
      await helm(['uninstall', 'policies', ...inNamespace('sales')], helms[0])
      await helm(words)
    },
  )

  it('kubectl explain describes the fields', async () => {
    expect(await run(['explain', 'accesspolicy'])).toContain('who may do what in a namespace of the catalog')
    expect(await run(['explain', 'apol.rules.when'])).toContain('A condition in CEL')
  })

  it('the gateway has the uid of the delegated namespace in its settings', async () => {
    const { metadata } = JSON.parse(await run(['get', 'namespace', 'sales', '--output', 'json'])) as {
      readonly metadata: { readonly uid: string }
    }
    const manifests = await helm(['get', 'manifest', 'demo', ...inNamespace('catalog')])
    expect(manifests).toContain(`uid: ${metadata.uid}`)
  })

  it('the account of the gateway may do what it needs, where it needs it, and nothing else', async () => {
    const permissions: readonly [words: string, namespaces: readonly string[]][] = [
      ['list accesspolicies', ['catalog', 'sales']],
      ['watch accesspolicies', ['catalog', 'sales']],
      ['patch accesspolicies --subresource status', ['catalog', 'sales']],
      ['create accesspolicies', []],
      ['patch accesspolicies', []],
      ['delete accesspolicies', []],
      ['get secrets', []],
      ['list pods', []],
    ]
    for (const [words, allowed] of permissions) {
      for (const namespace of ['catalog', 'sales', 'default']) {
        expect(await may(namespace, words.split(' ')), `${words} in ${namespace}`).toBe(
          allowed.includes(namespace),
        )
      }
    }
    for (const namespace of ['catalog', 'sales', 'default']) {
      expect(await may(namespace, ['get', `namespaces/${namespace}`])).toBe(namespace !== 'default')
    }
  })

  it('an upgrade replaces the definition, and the end of the release keeps it with all policies', async () => {
    const words = inNamespace('catalog')
    const patch = ['--type', 'json', '--patch', '[{ "op": "remove", "path": "/spec/names/shortNames" }]']
    await run(['patch', 'customresourcedefinition', 'accesspolicies.catalog-gateway.dev', ...patch])
    await helm(['upgrade', 'demo', chartFolder, '--reuse-values', '--force-conflicts', ...words])
    await eventually(async () =>
      expect(await run(['get', 'apol', '--namespace', 'sales'])).toContain('readers'),
    )
    await helm(['uninstall', 'demo', ...words])
    expect(await run(['get', 'accesspolicies', '--namespace', 'sales'])).toContain('readers')
  })

  it('a release of another name takes over the definition and its rules of admission', async () => {
    const words = inNamespace('sales')
    const kinds = 'validatingadmissionpolicies,validatingadmissionpolicybindings'
    const admission = (await run(['get', kinds, '--output', 'name'])).split('\n')
    expect(admission.filter((line) => line.includes('accesspolicies'))).toHaveLength(2)
    const install = ['install', 'other', chartFolder, ...words, '--set', 'check.enabled=false']
    const enabled = ['--set', 'policies.kubernetes.enabled=true']
    await expect(helm([...install, ...enabled])).rejects.toThrow('cannot be imported')
    await helm([...install, ...enabled, '--take-ownership'])
    await helm(['uninstall', 'other', ...words])
    await helm([...install, ...enabled, '--set', 'policies.kubernetes.installCrds=false'])
    await expect(apply(withRule({ wehn: 'true' }), '--validate=false')).rejects.toThrow('unknown members')
  })
})

async function may(namespace: string, words: readonly string[]): Promise<boolean> {
  const account = ['--as', 'system:serviceaccount:catalog:demo-catalog-gateway']
  const said = run(['auth', 'can-i', '--namespace', namespace, ...words, ...account])
  return said.then(
    (word) => word === 'yes\n',
    () => false,
  )
}

interface Example {
  readonly metadata: { readonly name: string; readonly description?: string }
  readonly namespace: readonly string[]
}

async function readExamples(): Promise<readonly Example[]> {
  const folder = join(projectFolder, 'policies', 'examples')
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  return texts.flatMap((text) => {
    const documents = parseAllDocuments(text)
    return 'empty' in documents ? [] : documents.map((document) => document.toJS() as Example)
  })
}
