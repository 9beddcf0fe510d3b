import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parse, stringify } from 'yaml'
import { runProgram, projectFolder } from '../e2e/built-program.ts'
import { kubectl } from '../helm/helm-programs.ts'
import { writeFiles } from '../policy/source/policy-folder.ts'
import type { KubernetesObject } from './support/api-client.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'

const apiVersion = 'catalog-gateway.dev/v1'

function policy(kubernetesNamespace: string, name: string, fields: object): KubernetesObject {
  return {
    apiVersion,
    kind: 'AccessPolicy',
    metadata: { name, namespace: kubernetesNamespace },
    ...fields,
  }
}

function allow(id: string, subjects: object, operations: readonly string[], more: object = {}): object {
  return { id, effect: 'allow', subjects, operations, ...more }
}

const readSales = policy('team-a', 'sales', {
  namespace: ['prod', 'sales'],
  rules: [allow('read', { groups: ['analysts'] }, ['read'])],
  tests: [
    {
      as: { groups: ['analysts'] },
      operations: ['DescribeTable'],
      table: ['prod', 'sales', 'a'],
      expect: 'allow',
    },
  ],
})

const denyDrop = {
  apiVersion: 'catalog-gateway/v1',
  kind: 'AccessPolicy',
  metadata: { name: 'files' },
  namespace: ['prod'],
  rules: [{ id: 'no-drop', effect: 'deny', subjects: { any: true }, operations: ['DropTable'] }],
}

/** A resource that the API server accepts and the gateway refuses. */
const invalid = policy('team-a', 'typo', {
  namespace: ['prod', 'sales'],
  rules: [allow('read', { groups: ['analysts'] }, ['read'], { when: 'client.adress == "192.0.2.1"' })],
})

const root = policy('team-b', 'everything', {
  namespace: [],
  rules: [allow('all', { users: ['eve'] }, ['all'])],
})

function formatFile(...resources: readonly object[]): string {
  return resources.map((resource) => stringify(resource)).join('---\n')
}

describe('policy commands with --kubernetes', () => {
  let server: ApiServer
  let uid = ''

  beforeAll(async () => {
    server = await startApiServer()
    const definition = join(projectFolder, 'helm', 'catalog-gateway', 'files', 'accesspolicies.yaml')
    await server.client.apply(parse(await readFile(definition, 'utf8')) as KubernetesObject)
    for (const name of ['team-a', 'team-b']) {
      await server.client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    }
    const { metadata } = await server.client.get('/api/v1/namespaces/team-a')
    uid = String(metadata['uid'])
    await eventually(() => server.client.apply(readSales))
    await server.client.apply(root)
  })
  afterAll(() => server.close())

  function run(name: string, parameters: readonly string[], kubeconfig = server.kubeconfig) {
    const path = `${dirname(kubectl ?? '')}${delimiter}${process.env['PATH']}`
    return runProgram(['policy', name, '--kubernetes', ...parameters], {
      environment: { KUBECONFIG: kubeconfig, PATH: path },
    })
  }

  /** Applies a resource for one test. */
  async function applied(resource: KubernetesObject): Promise<void> {
    const { name, namespace } = resource.metadata
    await server.client.apply(resource)
    onTestFinished(() =>
      server.client.delete(`/apis/${apiVersion}/namespaces/${namespace}/accesspolicies/${name}`),
    )
  }

  /** Writes settings of a gateway that uses policies of `team-a` alone, delegated. */
  async function delegating(changes: object = {}): Promise<string> {
    const config = join(await temporaryFolder(), 'gateway.yaml')
    const delegation = {
      name: 'team-a',
      uid,
      catalogNamespaces: [['prod', 'sales']],
      subjects: { groups: ['analysts'] },
      ...changes,
    }
    const settings = {
      upstream: { url: 'http://127.0.0.1:1' },
      identity: { anonymous: true },
      policies: { folder: 'policies', kubernetes: { namespaces: [delegation] } },
      audit: { folder: 'audit' },
    }
    await writeFile(config, stringify(settings))
    return config
  }

  it('all resources count as policies of the platform without settings', async () => {
    const { status, output } = await run('who-can', ['DescribeTable', 'prod/sales/orders'])
    expect(status).toBe(0)
    expect(output).toMatch(/group analysts +by team-a\/sales\/read \(accesspolicies\/team-a\/sales:\d+\)/)
    expect(output).toMatch(/user eve +by team-b\/everything\/all \(accesspolicies\/team-b\/everything:\d+\)/)
  })

  it('only those of the settings count with them, within their delegation', async () => {
    const settings = ['--config', await delegating()]
    const { status, output, messages } = await run('what-can', ['--as', 'eve', ...settings])
    expect({ status, output, messages }).toEqual({ status: 0, output: 'eve may do nothing\n', messages: '' })
    await applied(
      policy('team-a', 'beyond', {
        namespace: ['prod', 'finance'],
        rules: [allow('read', { groups: ['analysts'] }, ['read'])],
      }),
    )
    const beyond = await run('who-can', ['DescribeTable', 'prod/finance/orders', ...settings])
    expect(beyond).toMatchObject({ status: 0, output: 'DescribeTable on prod/finance/orders: nobody\n' })
    expect(beyond.messages).toMatch(/^refused: accesspolicies\/team-a\/beyond: namespace: /)
    await applied(
      policy('team-a', 'stranger', {
        namespace: ['prod', 'sales'],
        rules: [allow('read', { users: ['eve'] }, ['read'])],
      }),
    )
    const linted = await run('lint', settings)
    expect(linted.output).toMatch(
      /^accesspolicies\/team-a\/stranger:1 +error +refused +rules\[0\]\.subjects\.users: "eve"/m,
    )
  })

  it('a Kubernetes namespace that was created again has no policies', async () => {
    const config = await delegating({ uid: 'that-of-the-one-before' })
    const { status, output, messages } = await run('lint', ['--config', config])
    expect({ status, messages }).toEqual({
      status: 1,
      messages: expect.stringContaining('1 error, ') as string,
    })
    expect(output).toMatch(/^accesspolicies\/team-a\/sales:1 +error +refused +.*team-a was created again/)
  })

  it('lint reports a refused resource as an error with the path of the field', async () => {
    await applied(invalid)
    const { status, output, messages } = await run('lint', [])
    expect(status).toBe(1)
    expect(output).toMatch(/^accesspolicies\/team-a\/typo:\d+ +error +refused +rules\[0\]\.when/m)
    expect(messages).toMatch(/1 error, \d+ warnings? in 3 policies/)
  })

  it('explain, test and what-can use the resources beside a folder', async () => {
    const folder = await temporaryFolder()
    await writeFiles(folder, { 'files.yaml': stringify(denyDrop) })
    const beside = ['--policies', folder]
    const explained = await run('explain', [...beside, '--as', 'eve', 'DropTable', 'prod/sales/orders'])
    expect(explained).toMatchObject({ status: 0, messages: '' })
    expect(explained.output).toMatch(/^denied .*\n {2}by files\/no-drop \(files\.yaml:\d+\)/)
    expect(explained.output).toMatch(
      /allow +team-b\/everything\/all \(accesspolicies\/team-b\/everything:\d+\)/,
    )
    expect(await run('test', beside)).toMatchObject({
      status: 0,
      output: expect.stringMatching(/^1 of 1 tests passed/) as string,
    })
    const listed = await run('what-can', ['--as', 'al', '--group', 'analysts', ...beside])
    expect(listed.output).toMatch(/prod\/sales and beneath\n +read +by team-a\/sales\/read/)
  })

  it('diff compares the resources with candidates', async () => {
    const folder = await temporaryFolder()
    await writeFiles(folder, {
      'same/a.yaml': formatFile(readSales, root),
      'other/a.yaml': stringify({
        ...readSales,
        apiVersion: 'catalog-gateway/v1',
        metadata: { name: 'sales' },
      }),
    })
    expect(await run('diff', [join(folder, 'same')])).toMatchObject({
      status: 0,
      output: 'no decision changes\n',
    })
    const { status, output } = await run('diff', [join(folder, 'other'), '--fail-on-change'])
    expect(status).toBe(1)
    expect(output).toMatch(
      /before: allowed by team-b\/everything\/all \(accesspolicies\/team-b\/everything:\d+\)/,
    )
  })

  it('diff --apply compares the resources with those after kubectl apply', async () => {
    const folder = await temporaryFolder()
    const renamed = policy('team-a', 'more', {
      namespace: ['prod', 'sales', 'eu'],
      rules: [allow('write', { groups: ['analysts'] }, ['write'])],
    })
    await writeFiles(folder, {
      'same/a.yaml': formatFile(readSales),
      'more/a.yaml': formatFile(readSales, renamed),
      'beyond/a.yaml': formatFile({ ...renamed, namespace: ['prod'] }),
      'nowhere/a.yaml': formatFile({ ...renamed, metadata: { name: 'more' } }),
    })
    const diff = (name: string, ...more: string[]) => run('diff', ['--apply', join(folder, name), ...more])
    expect(await diff('same')).toMatchObject({ status: 0, output: 'no decision changes\n', messages: '' })
    const more = await diff('more')
    expect(more.output).toMatch(/^callers that are in analysts|group analysts/)
    expect(more.output).toMatch(/prod\/sales\/eu and everything beneath: write/)
    expect(more.output).toMatch(/after: +allowed by team-a\/more\/write \(accesspolicies\/team-a\/more:\d+\)/)
    expect(more.output).not.toContain('team-b')
    const beyond = await diff('beyond', '--config', await delegating())
    expect(beyond).toMatchObject({ status: 0, output: 'no decision changes\n' })
    expect(beyond.messages).toMatch(/^refused: accesspolicies\/team-a\/more: namespace: /)
    const nowhere = await diff('nowhere')
    expect(nowhere).toMatchObject({ status: 1, output: '' })
    expect(nowhere.messages).toMatch(
      /a\.yaml: the policy more cannot be applied; expected apiVersion: catalog-gateway\.dev\/v1 and metadata\.namespace/,
    )
  })

  it('shows the message of kubectl', async () => {
    const nowhere = join(await temporaryFolder(), 'kubeconfig')
    const { status, output, messages } = await run('lint', [], nowhere)
    expect({ status, output }).toEqual({ status: 1, output: '' })
    expect(messages).toMatch(/localhost:8080 was refused[^]*kubectl cannot read accesspolicies/)
  })
})
