import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { gravitinoPath, serveAsGravitino } from '../gateway/support/gravitino-upstream.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { startRecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { formatPolicies, type WrittenPolicy } from '../policy/policy-builder.ts'
import { runCommand, type CommandEnd } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface ProbeOptions {
  readonly policies?: readonly WrittenPolicy[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs `check --probe` with these settings of the upstream. */
async function probe(
  upstream: object,
  { policies = [], environment = {} }: ProbeOptions = {},
): Promise<CommandEnd> {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'all.yaml'), formatPolicies([allowEverything, ...policies]))
  const file = join(folder, 'gateway.yaml')
  const identity = { anonymous: true }
  const least = { upstream, identity, policies: { folder: 'policies' }, audit: { folder: 'audit' } }
  await writeFile(file, stringify(least))
  const ports = { CATALOG_GATEWAY__LISTEN__PORT: '0', CATALOG_GATEWAY__ADMIN__PORT: '0' }
  return runCommand(['check', '--config', file, '--probe'], { environment: { ...ports, ...environment } })
}

it('prints how the upstream responds, before the effective settings', async () => {
  const { url } = await runningBackend()
  const { status, output, messages } = await probe({ url: url() })
  expect(status).toBe(0)
  expect(messages).toMatch(/^upstream catalog \(http:\S+\): status 200 in \d+ ms\n/)
  expect(output).toContain('headerDialect: catalog')
})

it('suggests the names of the headers that the upstream reads', async () => {
  const { url } = await runningBackend()
  const { messages } = await probe({ url: url(), headerDialect: 'lance' })
  expect(messages).toContain('names x-catalog-table-location: set headerDialect: catalog')
  const other = await startRecordingUpstream()
  onTestFinished(() => other.close())
  other.handler = serveAsGravitino([])
  expect((await probe({ url: other.url + gravitinoPath })).messages).toContain(
    'set headerDialect: lance if it is a server of Lance',
  )
})

it('fails for an upstream that refuses the credential, has no such path, or cannot be reached', async () => {
  const accessToken = 'correct-horse-battery-staple'
  const { url } = await runningBackend({ accessToken })
  const credential = (value: string) => ({ url: url(), credential: { value: `Bearer ${value}` } })
  expect(await probe(credential(accessToken))).toMatchObject({ status: 0 })
  const refused = await probe(credential('wrong'))
  expect(refused).toMatchObject({ status: 1, output: '' })
  expect(refused.messages).toMatch(/cannot be used:\n {2}it responded .* status 401; check its `credential`/)
  expect(refused.messages).not.toContain('wrong')
  expect((await probe({ url: url() })).messages).toContain('status 401; set `credential`')
  expect((await probe({ ...credential(accessToken), url: `${url()}/elsewhere` })).messages).toContain(
    'status 404; check the path of its `url`',
  )
  expect((await probe({ url: url().replace('http:', 'https:') })).messages).toContain(
    'cannot be reached:\n  TLS: the port does not speak TLS; expected a URL without TLS, or the port that has it',
  )
  expect(await probe({ url: 'http://127.0.0.1:1' })).toMatchObject({
    status: 1,
    messages: expect.stringMatching(/cannot be reached:\n.*ECONNREFUSED/),
  })
})

const restrict = (rows: string) => ({
  name: 'crm',
  namespace: ['crm'],
  restrict: [
    {
      id: 'eu',
      subjects: { groups: ['analysts'] },
      tables: ['people', 'missing', '*_old'],
      columns: { id: 'number' },
      rows,
    },
  ],
  rules: [],
})

it('names a column of `rows` that the table does not have', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const schema = { fields: [{ name: 'id' }, { name: 'region' }] }
  upstream.handler = ({ target }, response) => {
    response.writeHead(target.includes('missing') ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ namespaces: [], schema }))
  }
  const wrong = await probe({ url: upstream.url }, { policies: [restrict("regoin = 'EU'")] })
  expect(wrong.status).toBe(1)
  expect(wrong.messages).toContain(
    'upstream catalog: crm/people has no column "regoin", which `rows` of crm/eu names; did you mean "region"?',
  )
  expect(wrong.messages).toContain('the columns of crm/missing are unknown: DescribeTable got 404')
  expect(await probe({ url: upstream.url }, { policies: [restrict("region = 'EU'")] })).toMatchObject({
    status: 0,
  })
})

it('warns of entries of NO_PROXY that match nothing', async () => {
  const { url } = await runningBackend()
  const { status, messages } = await probe({ url: url() }, { environment: { NO_PROXY: 'a.example, 10.*' } })
  expect([status, messages]).toEqual([0, expect.stringContaining('NO_PROXY: the entry "10.*" is malformed')])
})

it('does not print a proxy that cannot be used', async () => {
  const environment = { HTTPS_PROXY: 'socks5://user:hidden@proxy.example' }
  const { status, messages } = await probe({ url: 'http://127.0.0.1:1' }, { environment })
  expect([status, messages]).toEqual([
    1,
    expect.stringContaining('HTTPS_PROXY: expected the URL of an HTTP proxy'),
  ])
  expect(messages).not.toContain('hidden')
})
